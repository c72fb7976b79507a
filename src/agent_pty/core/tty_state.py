"""Step three of the completion ladder: what the terminal's state shows when there is no mark.

A program that owns the keyboard and is blocked reading it waits for something. Its line shows
what: a prompt is the end of a command, anything else is a question to a person.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from agent_pty.core.prompt import ends_in_sign, is_debugger_prompt, looks_like_prompt
from agent_pty.core.question import asks_for_secret, looks_like_question

# Any line may end with a prompt of fewer characters, so that proves nothing.
_SHORTEST_PROMPT: Final = 2


class Verdict(enum.Enum):
    """What the program in the foreground is doing."""

    BUSY = "busy"
    PROMPT = "prompt"
    INPUT = "input"
    SECRET = "secret"  # noqa: S105  the word, not a secret
    SCREEN = "screen"  # a full-screen program that waits for keys
    UNMARKED = "unmarked"  # it marks its prompts, but seems to be at one that it has not marked


@dataclass(frozen=True, slots=True, kw_only=True)
class TtyState:
    """What reads the keyboard and how the terminal is set, at one moment.

    *reading* is whether a process is blocked reading the terminal, *polling* whether it waits for
    other things as well, *own* whether it is the session's program itself. *relays*: it passes on
    what is typed (ssh, `script`, sudo), so it always reads, whatever is done on the other side.
    *kept*: the alternate screen has been in use for seconds. *edits*: a line editor has the line.
    *mute*: what it writes does not reach the terminal.
    """

    reading: bool
    own: bool
    polling: bool = False
    relays: bool = False
    line_mode: bool
    echo: bool
    alternate: bool
    kept: bool = False
    edits: bool = False
    mute: bool = False
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was known of the program before: its prompt, and whether it marks the end of commands.

    *replaced* is set when it has become another program, or the same without marks (`exec bash`).
    *line_mode* is how it read at its prompt, None if that is not known, *edits* whether its line
    editor says when it has the line. *asks*: code may ask in the same way (`input()`).
    """

    prompt: str | None = None
    marks: bool = False
    full_screen: bool = False  # by its name it is a full-screen program
    drawn: bool = False  # since the command began, much was drawn in many places of the screen
    replaced: bool = False
    line_mode: bool | None = None
    edits: bool = False
    asks: bool = False
    loops: bool = False  # it polls whatever it does: only its marks show when it waits for input


def judge(tty: TtyState, known: Known) -> Verdict:
    """Say what the program in the foreground is doing."""
    if tty.kept:
        return Verdict.SCREEN
    if not tty.reading or (known.loops and tty.own and tty.polling):
        return Verdict.BUSY
    if tty.alternate:
        return Verdict.SCREEN
    if tty.relays:
        return _behind_relay(tty, known)
    return _prompt(tty, known) or _question(tty, known)


def _behind_relay(tty: TtyState, known: Known) -> Verdict:
    """Judge by the line alone: who reads on the other side, and with what echo, is not seen."""
    if shows_prompt(tty.line, known.prompt) or ends_in_sign(tty.line):
        return Verdict.PROMPT
    if not looks_like_question(tty.line):
        return Verdict.SCREEN if known.drawn and tty.line else Verdict.BUSY
    return Verdict.SECRET if asks_for_secret(tty.line) else Verdict.INPUT


def _prompt(tty: TtyState, known: Known) -> Verdict | None:
    if not _may_be_prompt(tty, known):
        return Verdict.UNMARKED if _may_be_unmarked(tty, known) else None
    if tty.own and not known.replaced and _reads_otherwise(tty, known):
        return None  # `read` of a shell that edits its line at its prompt
    return Verdict.PROMPT if tty.mute or shows_prompt(tty.line, known.prompt) else None


def _question(tty: TtyState, known: Known) -> Verdict:
    if (known.drawn or known.full_screen) and not tty.own and not tty.line_mode:
        return Verdict.SCREEN  # `top` and `less -X` draw on the primary screen
    return Verdict.SECRET if tty.line_mode and not tty.echo else Verdict.INPUT


def _may_be_prompt(tty: TtyState, known: Known) -> bool:
    """A program that marks its prompts would have marked this one, unless it has become another."""
    return not known.marks or not tty.own or known.replaced


def _may_be_unmarked(tty: TtyState, known: Known) -> bool:
    """Whether a program that marks its prompts reads as it does at one."""
    if known.asks:
        return shows_learned_prompt(tty.line, known.prompt) or is_debugger_prompt(tty.line)
    if _reads_otherwise(tty, known):
        return False
    if tty.edits or tty.mute:
        return True
    return not known.edits and shows_prompt(tty.line, known.prompt)


def _reads_otherwise(tty: TtyState, known: Known) -> bool:
    """Whether the kernel edits the line now and did not at the prompt, or the other way round."""
    return known.line_mode is not None and known.line_mode != tty.line_mode


def shows_prompt(line: str, learned: str | None) -> bool:
    """Say whether a line ends with the prompt that was there before, or looks like a prompt."""
    return shows_learned_prompt(line, learned) or looks_like_prompt(line)


def shows_learned_prompt(line: str, learned: str | None) -> bool:
    """Say whether a line ends with the prompt that was there before."""
    shown, before = line.rstrip(), (learned or "").rstrip()
    # Output without a line end precedes the prompt on the same line.
    if len(before) >= _SHORTEST_PROMPT and shown.endswith(before):
        return True
    return shown == before != ""
