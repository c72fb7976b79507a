"""Counting equal verdicts, and noticing a reader that has done something."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent_pty.core.tty_state import Verdict
from agent_pty.host.cells.foreground import Reader
from agent_pty.host.cells.steadiness import Steadiness

BASH = Reader(pid=100, naps=5)
Given = Callable[[Steadiness, Reader | None], None]


def test_equal_verdicts_are_counted() -> None:
    """
    The first verdict has no equal one before it, and each equal one adds one.
    """
    steadiness = Steadiness()

    taken = [steadiness.take(Verdict.INPUT) for _ in range(4)]

    assert taken == [0, 1, 2, 3]


def test_another_verdict_begins_a_new_count() -> None:
    """
    A verdict that differs from the one before counts from zero.
    """
    steadiness = Steadiness()
    verdicts = [Verdict.INPUT, Verdict.INPUT, Verdict.BUSY, Verdict.INPUT, Verdict.INPUT]

    taken = [steadiness.take(verdict) for verdict in verdicts]

    assert taken == [0, 1, 0, 0, 1]


def test_output_makes_the_count_small_again() -> None:
    """
    After output, an equal verdict counts as the first one that was seen before.
    """
    steadiness = Steadiness()
    for _ in range(5):
        steadiness.take(Verdict.INPUT)

    steadiness.reset()

    assert [steadiness.take(Verdict.INPUT) for _ in range(2)] == [1, 2]


def test_input_makes_the_count_small_again() -> None:
    """
    After an input, an equal verdict counts as the first one that was seen before.
    """
    steadiness = Steadiness()
    for _ in range(5):
        steadiness.take(Verdict.INPUT)

    steadiness.typed(BASH)

    assert steadiness.take(Verdict.INPUT) == 1


def test_a_new_cell_forgets_the_verdict() -> None:
    """
    The first verdict after a cell was typed has no equal one before it.
    """
    steadiness = Steadiness()
    for _ in range(5):
        steadiness.take(Verdict.PROMPT)

    steadiness.begin(BASH)

    assert [steadiness.take(Verdict.PROMPT) for _ in range(2)] == [0, 1]


@pytest.mark.parametrize("given", [Steadiness.begin, Steadiness.typed], ids=["cell", "input"])
@pytest.mark.parametrize(
    ("now", "stirred"),
    [
        (BASH, False),
        (Reader(pid=100, naps=5, polls=True), False),
        (Reader(pid=100, naps=6), True),
        (Reader(pid=101, naps=5), True),
        (None, True),
    ],
    ids=["the same", "the same, polling", "has slept since", "another", "nobody"],
)
def test_a_reader_that_has_done_nothing_has_not_stirred(
    given: Given, now: Reader | None, *, stirred: bool
) -> None:
    """
    The process that will get the input has stirred when it slept again or another one reads.
    """
    steadiness = Steadiness()

    given(steadiness, BASH)

    assert steadiness.stirred(now) is stirred


@pytest.mark.parametrize("now", [BASH, None])
def test_without_a_known_reader_anything_counts(now: Reader | None) -> None:
    """
    If nobody was seen reading at the input, no later observation is held back.
    """
    fresh, unknown = Steadiness(), Steadiness()

    unknown.typed(None)

    assert fresh.stirred(now)
    assert unknown.stirred(now)


def test_output_does_not_change_who_was_reading() -> None:
    """
    The reader at the last input is remembered until the next input.
    """
    steadiness = Steadiness()
    steadiness.typed(BASH)

    steadiness.reset()
    steadiness.take(Verdict.BUSY)

    assert not steadiness.stirred(BASH)
