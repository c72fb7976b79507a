"""Whether a process waits for the keyboard, from what the kernel says of its threads. Linux only.

A thread that is blocked reading the terminal says so by its system call. One that polls waits for
several things: `select` says how many descriptors it watches, an epoll descriptor lists them, and
where neither helps, what the process has open is what it may wait for.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from agent_pty.process import table

# Where the kernel says a thread sleeps: reading a terminal (or a socket), or waiting for one of
# several things.
_READS = ("wait_woken", "n_tty_read", "tty_read")
_POLLS = ("poll", "select", "epoll")
# The numbers of system calls, which differ from processor to processor.
_GENERIC = {"read": (63,), "select": (72,), "poll": (73,), "epoll": (22, 441)}
_CALLS = {
    "x86_64": {"read": (0,), "select": (23, 270), "poll": (7, 271), "epoll": (232, 281, 441)},
    "aarch64": _GENERIC,
    "riscv64": _GENERIC,
}.get(os.uname().machine, {})
_MASTERS = ("/dev/ptmx", "/dev/pts/ptmx")
_MOST_THREADS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyboardWait:
    """How a process waits for the keyboard.

    *alone*: for nothing else. *relays*: it passes what is typed on to programs elsewhere, on the
    other side of a socket or of another terminal, or it may do so: we are not allowed to see.
    """

    alone: bool
    relays: bool


def keyboard_wait(pid: int, terminal: str | None, *, line_mode: bool) -> KeyboardWait | None:
    """Return how a process waits for the keyboard, None if it does not.

    In line mode a program that waits for several things (a server, ssh without a terminal) most
    likely waits for the others, and a thread that reads says nothing about those that work.
    """
    threads = [pid] if line_mode else _threads(pid)
    sleeping = [thread for thread in threads if _sleeps_at(pid, thread, _READS + _POLLS)]
    if not sleeping:
        return KeyboardWait(alone=False, relays=True) if _is_hidden(pid) else None
    files = _files(pid)
    waiting = _Waiting(pid, files, (terminal, "/dev/tty"))
    alone = [waiting.is_alone(thread) for thread in sleeping]
    if True in alone:
        # With several threads another one may pass on what this one reads.
        return KeyboardWait(alone=True, relays=len(threads) > 1 and _relays(files))
    if line_mode or False not in alone:
        return None
    return KeyboardWait(alone=False, relays=_relays(files))


class _Waiting:
    """What the threads of one process wait for."""

    def __init__(self, pid: int, files: dict[int, str], keyboard: tuple[str | None, str]) -> None:
        self._pid = pid
        self._files = files
        self._keyboard = keyboard

    def is_alone(self, thread: int) -> bool | None:
        """Whether a sleeping thread waits for the keyboard alone; None: it does not wait for it."""
        call = _Call.parse(_word(self._pid, thread, "syscall"))
        if _sleeps_at(self._pid, thread, _READS):
            # A writer that is ahead of us sleeps at the same place, and so do readers of sockets.
            file = 0 if call is None else call.first
            reads = call is None or call.kind == "read"
            return True if reads and self._files.get(file) in self._keyboard else None
        if call is None or call.kind is None:
            return False  # it may be the keyboard that it waits for
        watched = self._watched(call)
        if watched is None:
            return not any(self._is_other(file) for file in self._files)
        named = {self._files.get(file) in self._keyboard for file in watched}
        return None if True not in named else named == {True}

    def _watched(self, call: _Call) -> set[int] | None:
        """Return the descriptors that a call watches; None if that cannot be seen."""
        if call.kind == "epoll":
            return _listed(self._pid, call.first)
        count = call.second if call.kind == "poll" else call.first
        if count == 0:
            return set()  # a way to sleep
        return {0} if call.kind == "select" and count == 1 else None

    def _is_other(self, file: int) -> bool:
        """Whether something else than the keyboard can be waited for at a descriptor."""
        name = self._files[file]
        if name in (*self._keyboard, "/dev/null"):
            return False
        if not name.startswith("/"):
            return True
        try:
            mode = os.stat(f"/proc/{self._pid}/fd/{file}").st_mode
        except OSError:  # it has been closed since
            return False
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A system call in which a thread sleeps, and its first two arguments."""

    kind: str | None
    first: int
    second: int

    @classmethod
    def parse(cls, text: str) -> _Call | None:
        """Read what the kernel says; None where we may not know, or do not know the numbers."""
        words = text.split()
        if len(words) < len(("number", "first", "second")) or not _CALLS:
            return None
        kinds = (kind for kind, numbers in _CALLS.items() if int(words[0]) in numbers)
        return cls(kind=next(kinds, None), first=int(words[1], 16), second=int(words[2], 16))


def _is_hidden(pid: int) -> bool:
    """Whether it is the program of another user: the kernel does not say where that sleeps."""
    files = f"/proc/{pid}/fd"
    return os.path.exists(files) and not os.access(files, os.R_OK)


def _sleeps_at(pid: int, thread: int, places: tuple[str, ...]) -> bool:
    where = _word(pid, thread, "wchan")
    return any(name in where for name in places)


def _word(pid: int, thread: int, what: str) -> str:
    return table.read(pid, f"task/{thread}/{what}").decode("ascii", "replace")


def _files(pid: int) -> dict[int, str]:
    """Return what each descriptor of a process is; nothing if it has ended or is not ours."""
    files = {}
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                files[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
    except OSError:
        return {}
    return files


def _threads(pid: int) -> list[int]:
    try:
        others = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:  # it has ended
        return []
    return sorted(others, key=lambda thread: (thread != pid, thread))[:_MOST_THREADS]


def _listed(pid: int, file: int) -> set[int]:
    """Return the descriptors that an epoll descriptor watches."""
    return set(_targets(table.read(pid, f"fdinfo/{file}")))


def _targets(text: bytes) -> Iterator[int]:
    for line in text.splitlines():
        if line.startswith(b"tfd:"):
            yield int(line.split()[1])


def _relays(files: dict[int, str]) -> bool:
    return any(name in _MASTERS for name in files.values()) or bool(_lone_sockets(files))


def _lone_sockets(files: dict[int, str]) -> set[int]:
    """Return the sockets that lead to somebody else, by their numbers.

    A process that has both ends of a pair wakes itself by it (asyncio does); the kernel numbers the
    ends one after the other.
    """
    found = {int(name[len("socket:[") : -1]) for name in files.values() if name.startswith("soc")}
    return {number for number in found if found.isdisjoint((number - 1, number + 1))}
