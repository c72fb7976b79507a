"""The program in the foreground of a terminal, from the process table; nothing is touched."""

from __future__ import annotations

import os
import termios
from dataclasses import dataclass

from agent_pty.core.tty_state import TtyState
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.process import table
from agent_pty.process.tree import Root

# Where the kernel says a process sleeps: reading a terminal (or a socket), or waiting for one of
# several things.
_READS = ("wait_woken", "n_tty_read", "tty_read")
# The number of read(2), which differs from processor to processor.
_READ_CALL = {"x86_64": "0", "aarch64": "63", "riscv64": "63"}.get(os.uname().machine)
_POLLS = ("poll", "select", "epoll")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """The process that reads the keyboard.

    *naps* is how often it has slept: if the number has changed, it has done something since.
    """

    pid: int
    naps: int
    polls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreground:
    """The foreground at one moment: the terminal's state as rules see it, and who reads."""

    tty: TtyState
    reader: Reader | None
    name: str
    # How much was drawn all over the screen so far.
    drawn: int
    # Another number when the session's program has replaced itself.
    image: int


def observe(terminal: Terminal) -> Foreground:
    """Return who reads the terminal now."""
    root, output = terminal.root, terminal.output
    group, local = terminal.foreground(), terminal.local_modes()
    line_mode = bool(local & termios.ICANON)
    reader = _reader(root, group, line_mode=line_mode)
    return Foreground(
        tty=TtyState(
            reading=reader is not None,
            own=group is not None and group == _group(root.pid),
            polling=reader is not None and reader.polls,
            line_mode=line_mode,
            echo=bool(local & termios.ECHO),
            alternate=output.transcript.alternate,
            line=output.transcript.pending.decode(errors="replace"),
        ),
        reader=reader,
        name=_name(reader.pid if reader else group),
        drawn=output.transcript.drawn,
        image=table.image(root.pid),
    )


def assume_at_prompt(terminal: Terminal) -> Foreground:
    """Return the same for a program that has marked its prompt: no need to look for the reader."""
    output, local = terminal.output, terminal.local_modes()
    return Foreground(
        tty=TtyState(
            reading=True,
            own=True,
            line_mode=bool(local & termios.ICANON),
            echo=bool(local & termios.ECHO),
            alternate=output.transcript.alternate,
            line=output.transcript.pending.decode(errors="replace"),
        ),
        reader=Reader(pid=terminal.root.pid, naps=_naps(terminal.root.pid)),
        name="",
        drawn=output.transcript.drawn,
        image=0,
    )


def _group(pid: int) -> int | None:
    found = table.entry(pid)
    return found.group if found is not None else None


def _reader(root: Root, group: int | None, *, line_mode: bool) -> Reader | None:
    """Find the process of the foreground group that is blocked reading the terminal."""
    if group is None:
        return None
    for found in table.family(root.pid):
        if found.group != group or found.stat != "S":
            continue
        where = _word(found.pid, "wchan")
        if any(name in where for name in _READS) and _at_terminal(found.pid, root):
            return Reader(pid=found.pid, naps=_naps(found.pid))
        # A line editor or full-screen program waits for the keyboard among other things. A
        # program that does so in line mode (a server, ssh) most likely waits for the others.
        if not line_mode and any(name in where for name in _POLLS):
            return Reader(pid=found.pid, naps=_naps(found.pid), polls=True)
    return None


def _at_terminal(pid: int, root: Root) -> bool:
    """Whether it reads the terminal: a writer that is ahead of us sleeps at the same place.

    The system call and its first argument say so, where they can be seen.
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
