"""How often the terminal must look the same before it is believed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_pty.core.certainty import prompt_after, question_after
from agent_pty.core.tty_state import TtyState, Verdict

SHELL = TtyState(reading=True, own=False, line_mode=False, echo=False, alternate=False, line="$ ")
RELAY = replace(SHELL, relays=True)


@pytest.mark.parametrize(
    ("tty", "learned", "count"),
    [
        (SHELL, "$ ", 1),
        (SHELL, None, 1),
        (RELAY, "$ ", 1),
        (replace(RELAY, line="abcx$ "), "x$ ", 1),
        (replace(RELAY, line="In [12]: "), "In [9]: ", 1),
        (replace(RELAY, line="a@b:/usr$ "), "a@b:~$ ", 7),
        (RELAY, None, 7),
        (replace(RELAY, line="inner:/usr$ "), "inner:~$ ", 9),
    ],
)
def test_trial_07_a_prompt_behind_a_relay_must_stand_still(
    tty: TtyState, learned: str | None, count: int
) -> None:
    """
    Where it is seen who reads, and for the learned prompt, twice is enough; else it takes longer.
    """
    assert prompt_after(tty, Verdict.PROMPT, learned) == count


@pytest.mark.parametrize(
    ("tty", "ends", "asks"),
    [
        (SHELL, 6, 8),
        (replace(SHELL, line="ready "), 6, 8),
        (replace(SHELL, line="", mute=True), 6, 8),
        (replace(SHELL, line="name? "), 11, 4),
    ],
)
def test_trial_09_an_unmarked_prompt_ends_a_cell_before_it_is_a_question(
    tty: TtyState, ends: int, asks: int
) -> None:
    """
    What looks like a prompt ends the cell and is no question; anything else is a question first.
    """
    assert prompt_after(tty, Verdict.UNMARKED, "ready ") == ends
    assert question_after(tty, Verdict.UNMARKED, "ready ") == asks


@pytest.mark.parametrize(
    ("tty", "verdict", "count"),
    [
        (SHELL, Verdict.INPUT, 4),
        (SHELL, Verdict.SCREEN, 4),
        (RELAY, Verdict.INPUT, 9),
        (RELAY, Verdict.SECRET, 9),
        (RELAY, Verdict.SCREEN, 8),
        (replace(RELAY, alternate=True), Verdict.SCREEN, 4),
        (replace(SHELL, kept=True), Verdict.SCREEN, 0),
    ],
)
def test_trial_07_a_question_behind_a_relay_must_stand_still(
    tty: TtyState, verdict: Verdict, count: int
) -> None:
    """
    What is guessed from a line of text alone must not change for seconds; a full screen is seen.
    """
    assert question_after(tty, verdict, None) == count
