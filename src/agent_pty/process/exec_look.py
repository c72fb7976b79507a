"""What a process that wants to execute something is: where it stands, and what file it means."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent_pty.process import table

_PPID, _FLAGS, _THREADS, _BIRTH = 1, 6, 17, 19  # fields of /proc/PID/stat after the name
_FORKED_ONLY = 0x40  # PF_FORKNOEXEC: it still runs the program of its parent
_MOST_ANCESTORS = 1000
# Names that mean another file in each process.
_OWN = re.compile(r"^/(?:proc/(?:self|thread-self)|dev/fd(?=/))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """A process or one of its ancestors; *executed*: it has executed a program of its own."""

    pid: int
    parent: int
    birth: float
    executed: bool

    @property
    def key(self) -> tuple[int, float]:
        """What names one process, and never a later one with its pid."""
        return self.pid, self.birth


def ancestry(thread: int, root: int) -> Iterator[Ancestor]:
    """Yield the process of a thread and its ancestors below *root*, nearest first.

    If an ancestor has ended, the row goes on with whoever has adopted its children.
    """
    pid = thread
    for _ in range(_MOST_ANCESTORS):
        found = None if pid in (0, 1, root) else _process(pid)
        if found is None or found.pid == root:
            return
        yield found
        pid = found.parent


def _process(thread: int) -> Ancestor | None:
    stat = table.read(thread, "stat")
    fields = stat[stat.rfind(b")") + 2 :].split()
    if not fields:
        return None
    process = thread if fields[_THREADS] == b"1" else _leader(thread)
    if process != thread:  # a thread has flags of its own
        return _process(process) if process is not None else None
    return Ancestor(
        pid=thread,
        parent=int(fields[_PPID]),
        birth=float(fields[_BIRTH]),
        executed=not int(fields[_FLAGS]) & _FORKED_ONLY,
    )


def _leader(thread: int) -> int | None:
    """Return the pid of the process that a thread belongs to; None if it is gone."""
    _, found, rest = table.read(thread, "status").partition(b"\nTgid:")
    return int(rest.split(maxsplit=1)[0]) if found else None


def file_of(pid: int, path: str, directory: int | None) -> str | None:
    """Return the file that *path* means to a process, with every link resolved.

    Raise FileNotFoundError if there is none; None: it cannot be seen.
    """
    place = _place(pid, path, directory)
    try:
        handle = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except NotADirectoryError as error:
        raise FileNotFoundError(place) from error
    except FileNotFoundError:
        raise
    except OSError:
        return None
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)


def _place(pid: int, path: str, directory: int | None) -> str:
    own = _OWN.match(path)
    if own is not None:
        inside = path[own.end() :]
        return f"/proc/{pid}/fd{inside}" if own[0] == "/dev/fd" else f"/proc/{pid}{inside}"
    if path.startswith("/"):
        return f"/proc/{pid}/root{path}"
    if directory is None:
        return f"/proc/{pid}/cwd/{path}"
    return f"/proc/{pid}/fd/{directory}/{path}" if path else f"/proc/{pid}/fd/{directory}"


def sees_our_files(pid: int) -> bool:
    """Whether a path means the same file to a process as to us: not in a container or chroot."""
    with contextlib.suppress(OSError):
        theirs, ours = (
            [os.readlink(f"/proc/{one}/{what}") for what in ("ns/mnt", "root")]
            for one in (pid, "self")
        )
        return theirs == ours
    return False
