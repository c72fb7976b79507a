"""Look who sits at the keyboard: from the process table, without touching anything."""

from __future__ import annotations

import os
import termios
from dataclasses import dataclass

from agent_pty.core.tty_state import Seat
from agent_pty.host.terminal import tty
from agent_pty.host.terminal.output import Stream
from agent_pty.process import table
from agent_pty.process.tree import Root

# Where the kernel says a process sleeps: reading a terminal (or a socket), or waiting for one of
# several things.
_READS = ("wait_woken", "n_tty_read", "tty_read")
# The number of read(2), which differs from processor to processor.
_READ_CALL = {"x86_64": "0", "aarch64": "63", "riscv64": "63"}.get(os.uname().machine)
_POLLS = ("poll", "select", "epoll")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitter:
    """The process that reads, and how often it has slept: a later look tells if it stirred."""

    pid: int
    naps: int
    polls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look: the seat as rules see it, and who sits there."""

    seat: Seat
    sitter: Sitter | None
    name: str
    # How much was drawn all over the screen so far.
    drawn: int
    # Another number when the session's program has replaced itself.
    image: int


def look(master: int, root: Root, stream: Stream) -> Look:
    """Return who reads the terminal now."""
    group = tty.foreground(master)
    local = _flags(master)
    line_mode = bool(local & termios.ICANON)
    sitter = _reader(root, group, line_mode=line_mode)
    own = group is not None and group == _group(root.pid)
    return Look(
        seat=Seat(
            reading=sitter is not None,
            own=own,
            polling=sitter is not None and sitter.polls,
            line_mode=line_mode,
            echo=bool(local & termios.ECHO),
            alternate=stream.emulator.alternate,
            line=stream.transcript.pending.decode(errors="replace"),
        ),
        sitter=sitter,
        name=_name(sitter.pid if sitter else group),
        drawn=stream.transcript.drawn,
        image=table.image(root.pid),
    )


def glance(master: int, root: Root, stream: Stream) -> Look:
    """Return the same of a program that has said itself that it reads: cheaper."""
    local = _flags(master)
    return Look(
        seat=Seat(
            reading=True,
            own=True,
            line_mode=bool(local & termios.ICANON),
            echo=bool(local & termios.ECHO),
            alternate=stream.emulator.alternate,
            line=stream.transcript.pending.decode(errors="replace"),
        ),
        sitter=Sitter(pid=root.pid, naps=_naps(root.pid)),
        name="",
        drawn=stream.transcript.drawn,
        image=0,
    )


def _flags(master: int) -> int:
    try:
        return int(termios.tcgetattr(master)[3])
    except termios.error:
        return 0


def _group(pid: int) -> int | None:
    found = table.entry(pid)
    return found.group if found is not None else None


def _reader(root: Root, group: int | None, *, line_mode: bool) -> Sitter | None:
    """Find the process of the foreground group that is blocked reading the terminal."""
    if group is None:
        return None
    for found in table.family(root.pid):
        if found.group != group or found.stat != "S":
            continue
        where = _word(found.pid, "wchan")
        if any(name in where for name in _READS) and _at_terminal(found.pid, root):
            return Sitter(pid=found.pid, naps=_naps(found.pid))
        # A line editor or full-screen program waits for the keyboard among other things; a
        # program that does so in line mode (a server, ssh) most likely waits for the others.
        if not line_mode and any(name in where for name in _POLLS):
            return Sitter(pid=found.pid, naps=_naps(found.pid), polls=True)
    return None


def _at_terminal(pid: int, root: Root) -> bool:
    """Whether it reads, and the terminal: a writer that is ahead of us sleeps at the same place.

    The system call and its first argument tell, if they are to be seen.
    """
    words = _word(pid, "syscall").split()
    if len(words) > 1 and _READ_CALL is not None and words[0] != _READ_CALL:
        return False
    file = str(int(words[1], 16)) if len(words) > 1 else "0"
    try:
        return os.readlink(f"/proc/{pid}/fd/{file}") in (root.terminal, "/dev/tty")
    except OSError:
        return False


def _word(pid: int, what: str) -> str:
    return table.read(pid, what).decode("ascii", "replace")


def _naps(pid: int) -> int:
    _, _, found = table.read(pid, "status").partition(b"\nvoluntary_ctxt_switches:")
    return int(found.split(b"\n", 1)[0] or 0)


def _name(pid: int | None) -> str:
    return _word(pid, "comm").strip() if pid is not None else ""
