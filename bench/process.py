"""Processes, as /proc shows them: memory, processor time, descendants, ends."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Iterable

_TICKS = os.sysconf("SC_CLK_TCK")


def pss(pids: Iterable[int]) -> float:
    """Return the memory of some processes in MB; what they share is counted once."""
    return sum(_pss_kib(pid) for pid in pids) / 1024


def _pss_kib(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the processor time that some processes have used."""
    return sum(_ticks(pid) for pid in pids) / _TICKS


def _ticks(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12])


def _stat(pid: int) -> list[str]:
    """Return the fields after the name, which may contain anything."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def all_pids() -> list[int]:
    """Return every process there is."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def command(pid: int) -> str:
    """Return the command line; empty if the process is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def tagged(tag: str) -> list[int]:
    """Return the living processes whose command line contains *tag*."""
    return [pid for pid in all_pids() if pid != os.getpid() and tag in command(pid)]


def children(pid: int) -> list[int]:
    """Return the direct children of a process."""
    found = []
    for one in all_pids():
        with contextlib.suppress(OSError):
            if int(_stat(one)[1]) == pid:
                found.append(one)
    return found


def slay(pids: Iterable[int]) -> None:
    """Kill processes and return when they have ended."""
    handles = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            handles.append(os.pidfd_open(pid))
            os.kill(pid, signal.SIGKILL)
    await_end(handles)


def await_end(handles: Iterable[int], seconds: float = 30.0) -> None:
    """Return when the processes behind these pidfds have ended, and close those."""
    for handle in handles:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(seconds * 1000)
        os.close(handle)
