"""Who takes what is typed now: it decides which rules apply to it."""

from __future__ import annotations

import re
import termios
from dataclasses import dataclass
from typing import Literal

from agent_pty.core.policy.program_text import family_of
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.process.program_name import command_name, program_name

# `asked`: a shell at its prompt that says what stands on its line. `modelled`: a shell that does
# not, or a program in front of one, after which the shell may get the text. `program`: a REPL, an
# editor, or another program that reads each key. `secret`: a program that hides what is typed.
Taker = Literal["asked", "modelled", "program", "secret"]
# They pass on what is typed to a shell that cannot be seen from here.
_RELAY = re.compile(
    r"ssh|mosh.*|telnet|su|sudo|doas|docker|podman|kubectl|oc|tmux.*|screen|script|chroot|nsenter"
    r"|expect|socat|picocom|minicom"
)
_SHELL = re.compile(r"-?(?:ba|da|z|fi|k|mk|a|c|tc|)sh|busybox|elvish|nu|xonsh|pwsh|rbash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Who takes what is typed; *family*: how a program takes text, if that is known.

    *asks*: a program that hides what is typed has written something that asks for it.
    """

    taker: Taker
    family: str | None = None
    asks: bool = False


ASKED = Situation(taker="asked")
MODELLED = Situation(taker="modelled")


def look(terminal: Terminal, readiness: Readiness) -> Situation:
    """Look who takes what is typed."""
    if readiness.can_be_asked:
        return ASKED
    if readiness.ready == "marks" and terminal.foreground() == terminal.root.pid:
        family = family_of(readiness.program or "")
        if family is not None:
            return Situation(taker="program", family=family)
        return MODELLED
    local = terminal.local_modes()
    hides = bool(local & termios.ICANON) and not local & termios.ECHO
    # A shell that has not drawn its first prompt shows nothing either, and asks for nothing.
    begun = readiness.marks or readiness.program is None
    if hides and begun and readiness.ready is None:
        return Situation(taker="secret", asks=bool(terminal.output.transcript.pending.strip()))
    return _of_foreground(terminal, reads_keys=not local & termios.ICANON)


def _of_foreground(terminal: Terminal, *, reads_keys: bool) -> Situation:
    pid = terminal.foreground() or terminal.root.pid
    try:
        names = (program_name(pid), command_name(pid))
    except OSError:  # no descriptor is free to look: then nobody knows the program
        names = ("", "")
    family = next((found for name in names if (found := family_of(name)) is not None), None)
    if family is not None:
        return Situation(taker="program", family=family)
    shell = any(_SHELL.fullmatch(name) or _RELAY.fullmatch(name) for name in names)
    # Behind ssh an editor has the whole screen: there, keys are not those of a line.
    full_screen = terminal.output.transcript.alternate
    if full_screen or (reads_keys and not shell):
        return Situation(taker="program")
    return MODELLED
