"""The process table, one reading at a time."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from agent_pty.core.process_mark import is_mark, plain_mark
from agent_pty.ops.model import Process

_CHUNK = 16 * 1024
# Fields of /proc/PID/stat from the state on, which is number 3 in proc(5).
_FOREGROUND = 5
_FLAGS = 6
_EXIT_STATUS = 49
_ENVIRONMENT = slice(47, 49)  # where it begins and ends
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD: a thread that never has an environment
_MARK_LIMIT = b"Max file locks"  # RLIMIT_LOCKS in /proc/PID/limits
_LONGEST_EXEC = 0.1
_COUNTING = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One process. *birth* distinguishes it from a later one with the same pid.

    The *name* is what the kernel has, at most 15 bytes; a process can change it.
    """

    pid: int
    ppid: int
    group: int
    session: int
    stat: str
    birth: float
    name: str

    @property
    def alive(self) -> bool:
        """Whether it can still do anything: a zombie only waits to be reaped."""
        return self.stat not in ("Z", "X")


def snapshot() -> dict[int, Entry]:
    """Return every process there is."""
    entries = _from_proc() if sys.platform == "linux" else _from_psutil()
    return {entry.pid: entry for entry in entries}


def entry(pid: int) -> Entry | None:
    """Return one process, None if it is gone."""
    if sys.platform == "linux":
        return _read_stat(pid)
    return next((found for found in _from_psutil() if found.pid == pid), None)


def read(pid: int, what: str) -> bytes:
    """Return one of a process's files; empty if it ended or we may not read it.

    `open` would make eight system calls where three are enough, and reads are frequent.
    """
    try:
        file = os.open(f"/proc/{pid}/{what}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        data = os.read(file, _CHUNK)
        while part := os.read(file, _CHUNK):
            data += part
    except OSError:
        return b""
    else:
        return data
    finally:
        os.close(file)


def described(found: Entry) -> Process:
    """Return a process with its command line, blanks collapsed.

    One that ends or has ended since it was seen has none any more: it is named as `ps` does it.
    """
    command = _command(found.pid) or f"[{found.name}]"
    # Arguments may be any bytes; what is shown and recorded is text.
    command = command.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return Process(pid=found.pid, ppid=found.ppid, stat=found.stat, command=command)


def environment(pid: int) -> set[bytes]:
    """Return the environment a process was started with; empty if it cannot be seen."""
    data = read(pid, "environ")
    begun = time.monotonic()
    # A process that becomes another program has no environment for a moment.
    while not data and time.monotonic() - begun < _patience(pid):
        os.sched_yield()
        data = read(pid, "environ")
    return {item for item in data.split(b"\0") if item}


def _patience(pid: int) -> float:
    """Return for how many seconds an environment may still appear."""
    fields = _stat_fields(pid)
    if not fields or fields[0] in (b"Z", b"X") or int(fields[_FLAGS]) & _KERNEL_THREAD:
        return 0.0
    if not os.access(f"/proc/{pid}/environ", os.R_OK):
        return 0.0
    begin, end = fields[_ENVIRONMENT]
    if end == b"0" or begin != end:
        return _LONGEST_EXEC
    # The kernel sets both to the same place before it counts the strings. With an empty environment
    # they stay the same, but a process that sleeps is not in the middle of an exec.
    return _COUNTING if fields[0] != b"S" else 0.0


def mark(pid: int) -> int | None:
    """Return the mark of a process (`core/process_mark.py`); None if it has none."""
    _, found, rest = read(pid, "limits").partition(_MARK_LIMIT)
    soft = rest.split(maxsplit=1)[0] if found else b""
    return plain_mark(int(soft)) if soft.isdigit() and is_mark(int(soft)) else None


def arguments(pid: int) -> list[str]:
    """Return the command line of a process as it is; empty if it cannot be seen."""
    return [os.fsdecode(word) for word in read(pid, "cmdline").split(b"\0")[:-1]]


def program_file(pid: int) -> str | None:
    """Return the path of the program that a process runs; None if it cannot be seen."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def open_files(pid: int) -> set[str]:
    """Return the paths of a process's descriptors; empty if they cannot be seen."""
    paths = set()
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                paths.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    except OSError:  # it ended, or we may not read it
        return set()
    return paths


def input_file(pid: int) -> str:
    """Return what a process has as its standard input."""
    return os.readlink(f"/proc/{pid}/fd/0")


def directory(pid: int) -> str | None:
    """Return the working directory of a process; None if that cannot be seen."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None


def foreground(pid: int) -> int | None:
    """Return the process group in the foreground of a process's terminal; None if unknown."""
    fields = _stat_fields(pid)
    group = int(fields[_FOREGROUND]) if fields else -1
    return group if group > 0 else None


def exit_status(pid: int) -> int | None:
    """Return how a process ended that nobody has waited for, as `waitpid` has it.

    None if it has not ended, and if it is not ours to know: the kernel says 0 then.
    """
    fields = _stat_fields(pid)
    try:
        ours = os.geteuid() in (0, os.stat(f"/proc/{pid}").st_uid)
    except OSError:
        return None
    return int(fields[_EXIT_STATUS]) if ours and fields and fields[0] == b"Z" else None


def image(pid: int) -> int:
    """Return a number that stays until the process replaces itself by another program.

    The same program again is recognised by the environment it was started with: `exec bash` no
    longer has what we gave to the first one.
    """
    try:
        program = os.fsencode(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return 0
    # Not `hash`: the number is kept for other hosts, and each process has another seed.
    parts = b"\0".join([program, *sorted(environment(pid))])
    return int.from_bytes(hashlib.blake2b(parts, digest_size=6).digest())


def _command(pid: int) -> str:
    try:
        return " ".join(" ".join(psutil.Process(pid).cmdline()).split())
    except psutil.Error:
        return ""


def _from_proc() -> Iterator[Entry]:
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := _read_stat(int(name))) is not None:
            yield found


def _stat_fields(pid: int) -> list[bytes]:
    """Return what the kernel says of a process, from its state on; nothing if it is gone."""
    return _split_stat(read(pid, "stat"))[1]


def _split_stat(stat: bytes) -> tuple[bytes, list[bytes]]:
    """Return the name and the fields after it."""
    # The name is in parentheses and may itself contain blanks and parentheses.
    end = stat.rfind(b")")
    return stat[stat.find(b"(") + 1 : end], stat[end + 2 :].split() if stat else []


def _read_stat(pid: int) -> Entry | None:
    name, fields = _split_stat(read(pid, "stat"))
    if not fields:
        return None
    return Entry(
        pid=pid,
        ppid=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        stat=fields[0].decode(),
        birth=float(fields[19]),
        name=name.decode("utf-8", "replace"),
    )


def _from_psutil() -> Iterator[Entry]:
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                yield Entry(
                    pid=process.pid,
                    ppid=process.ppid(),
                    group=os.getpgid(process.pid),
                    session=os.getsid(process.pid),
                    stat="Z" if process.status() == psutil.STATUS_ZOMBIE else "S",
                    birth=process.create_time(),
                    name=process.name(),
                )
        except (psutil.Error, OSError):
            continue


def family(pid: int) -> list[Entry]:
    """Return a process and its descendants, without reading the whole table where possible."""
    root = entry(pid)
    if root is None:
        return []
    found = [root]
    for parent in found:
        found += [child for number in children(parent.pid) if (child := entry(number)) is not None]
    return found


def children(pid: int) -> list[int]:
    """Return the pids of a process's children, zombies included, as fast as possible."""
    listed = read(pid, f"task/{pid}/children")
    if not listed and _no_children_file():
        return [found.pid for found in snapshot().values() if found.ppid == pid]
    return [int(number) for number in listed.split()]


@functools.cache
def _no_children_file() -> bool:
    return not os.path.exists(f"/proc/self/task/{os.getpid()}/children")
