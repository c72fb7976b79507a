"""How often the terminal must look the same before it is believed. Pure numbers of observations.

Observations come more and more rarely: 4 equal ones take a third of a second, 7 take more than a
second, 9 take three, 11 take five.
"""

from __future__ import annotations

import re
from typing import Final

from agent_pty.core.prompt import looks_like_prompt
from agent_pty.core.tty_state import TtyState, Verdict, shows_learned_prompt, shows_prompt

# The first observation may have come between two writes.
_TWICE: Final = 1
# Programs draw first, then read.
_QUESTION: Final = 4
# Behind a relay a line that looks like a prompt may be output of a command that still works.
_RELAYED_PROMPT: Final = 7
_RELAYED_QUESTION: Final = 9
# `top` draws its screen again every three seconds.
_RELAYED_SCREEN: Final = 8
# A prompt that has stood there for a second will not be marked any more. A line that does not look
# like a prompt is taken for a question first: `read -e` of bash reads like a prompt.
_UNMARKED: Final = 6
_NOT_UNMARKED: Final = 8
_UNMARKED_QUESTION: Final = 11
_DIGITS: Final = re.compile(r"\d+")


def prompt_after(tty: TtyState, verdict: Verdict, learned: str | None) -> int:
    """Return how many equal observations make a prompt the end of a command."""
    if verdict is Verdict.UNMARKED:
        return _UNMARKED if _is_like_prompt(tty, learned) else _UNMARKED_QUESTION
    if not tty.relays or shows_learned_prompt(_uncounted(tty.line), _uncounted(learned or "")):
        return _TWICE
    return _RELAYED_PROMPT if looks_like_prompt(tty.line) else _RELAYED_QUESTION


def _uncounted(line: str) -> str:
    """Make prompts with a number or a clock in them the same: `In [1]:` and `In [2]:`."""
    return _DIGITS.sub("0", line)


def _is_like_prompt(tty: TtyState, learned: str | None) -> bool:
    return tty.mute or shows_prompt(tty.line, learned)


def question_after(tty: TtyState, verdict: Verdict, learned: str | None) -> int:
    """Return how many equal observations show that a program waits for a person."""
    if verdict is Verdict.UNMARKED and _is_like_prompt(tty, learned):
        return _NOT_UNMARKED
    if tty.kept:
        return 0  # it may draw all the time
    if not tty.relays or tty.alternate:
        return _QUESTION
    return _RELAYED_SCREEN if verdict is Verdict.SCREEN else _RELAYED_QUESTION
