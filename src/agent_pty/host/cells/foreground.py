"""The program in the foreground of a terminal, from the process table; nothing is touched."""

from __future__ import annotations

import os
import termios
from dataclasses import dataclass

from agent_pty.core.quit_keys import quit_keys
from agent_pty.core.tty_state import TtyState
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.process import table
from agent_pty.process.keyboard import keyboard_wait
from agent_pty.process.program_name import command_name, program_name
from agent_pty.process.tree import Root

_BRACKETED_PASTE = 2004


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """The process that reads the keyboard.

    *naps* is how often it has slept: if the number has changed, it has done something since.
    *polls*: it waits for other things as well. *relays*: it passes on what is typed.
    """

    pid: int
    naps: int
    polls: bool = False
    relays: bool = False


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
    own = group is not None and group == _group(root.pid)
    return Foreground(
        tty=TtyState(
            reading=reader is not None,
            own=own,
            polling=reader is not None and reader.polls,
            relays=reader is not None and reader.relays,
            line_mode=line_mode,
            echo=bool(local & termios.ECHO),
            alternate=output.transcript.alternate,
            edits=not line_mode and output.emulator.mode(_BRACKETED_PASTE),
            mute=own and reader is not None and _is_mute(reader.pid, root.terminal),
            line=output.transcript.pending.decode(errors="replace"),
        ),
        reader=reader,
        name=_name(reader, group),
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
            edits=output.emulator.mode(_BRACKETED_PASTE),
            line=output.transcript.pending.decode(errors="replace"),
        ),
        reader=Reader(pid=terminal.root.pid, naps=_naps(terminal.root.pid)),
        name="",
        drawn=output.transcript.drawn,
        image=0,
    )


def _is_mute(pid: int, terminal: str | None) -> bool:
    """Whether what a program writes to its standard error is not shown here."""
    try:
        return os.readlink(f"/proc/{pid}/fd/2") not in (terminal, "/dev/tty")
    except FileNotFoundError:
        return True  # it was closed
    except OSError:
        return False


def _group(pid: int) -> int | None:
    found = table.entry(pid)
    return found.group if found is not None else None


def _reader(root: Root, group: int | None, *, line_mode: bool) -> Reader | None:
    """Find the process of the foreground group that waits for the keyboard.

    One that waits for nothing else comes first, one of which nothing can be seen comes last.
    """
    found: list[tuple[bool, bool, Reader]] = []
    for one in table.family(root.pid) if group is not None else ():
        if one.group != group or one.stat != "S":
            continue
        wait = keyboard_wait(one.pid, root.terminal, line_mode=line_mode)
        if wait is not None:
            reader = Reader(
                pid=one.pid, naps=_naps(one.pid), polls=not wait.alone, relays=wait.relays
            )
            found.append((not wait.alone, wait.relays, reader))
    return min(found, key=lambda each: each[:2])[2] if found else None


def _naps(pid: int) -> int:
    _, _, found = table.read(pid, "status").partition(b"\nvoluntary_ctxt_switches:")
    return int(found.split(b"\n", 1)[0] or 0)


def _name(reader: Reader | None, group: int | None) -> str:
    pid = reader.pid if reader is not None else group
    if pid is None:
        return ""
    name = command_name(pid)
    if quit_keys(name):  # mc and tmux are relays as well, but the screen is theirs
        return name
    name = program_name(pid)
    if reader is None or not reader.relays or quit_keys(name):
        return name
    return f"a program behind {name}"
