"""The life of one cell, without a terminal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec
import pytest

from agent_pty.core.mark import Kind, Mark, PlacedMark
from agent_pty.host.cells.cell import Cell, CellStart, Phase, Result
from agent_pty.ops.cell_model import Status

ID = "0123456789ab"
START = CellStart(
    cell_id=ID,
    frame="ladder",
    typed=100,
    lines=["make"],
    echoed=True,
    line_mode=False,
    drawn=0,
    number=7,
    prompt="$ ",
    began=1234.5,
    limit=60.0,
)
DONE = Result(cell_id=ID, status=Status.DONE, frame="marks", exit_code=0)
Step = Callable[[Cell], object]


def begin(cell: Cell) -> None:
    """Type its code."""
    cell.begin(START, modes=[1, 2])


def ask(cell: Cell) -> None:
    """Let it wait for a person."""
    cell.ask("input", "leave it with q")


def finish(cell: Cell) -> None:
    """End it."""
    cell.finish(DONE)


# How a cell comes into each phase.
WAYS: dict[Phase, list[Step]] = {
    Phase.PREPARING: [],
    Phase.TYPING: [begin],
    Phase.RUNNING: [begin, Cell.typed],
    Phase.WAITING: [begin, Cell.typed, ask],
    Phase.ENDED: [begin, Cell.typed, finish],
}


def cell_in(phase: Phase, *, fired: bool = False) -> Cell:
    """Return a cell that is in *phase*, with `changed` cleared."""
    cell = Cell(ID, fired=fired)
    for step in WAYS[phase]:
        step(cell)
    cell.changed.clear()
    return cell


def marked(kind: Kind, number: int | None, place: int, line: bytes = b"") -> PlacedMark:
    """Return a mark at a place in the transcript, with *line* before it."""
    return PlacedMark(mark=Mark(kind=kind, number=number, code=None), place=place, line=line)


async def next_turn() -> None:
    """Let every other task have one turn of the loop."""
    turn = asyncio.Event()
    asyncio.get_running_loop().call_soon(turn.set)
    await turn.wait()


# -- the table of phases


def test_a_new_cell_is_preparing() -> None:
    """
    A new cell has typed nothing, has no result and began when it was made.
    """
    before = time.monotonic()

    cell = Cell(ID, fired=False, limit=5.0)

    assert (cell.id, cell.fired, cell.limit, cell.phase) == (ID, False, 5.0, Phase.PREPARING)
    assert (cell.start, cell.modes, cell.result) == (None, None, None)
    assert before <= cell.began <= time.monotonic()


@pytest.mark.parametrize(
    ("phase", "step", "then"),
    [
        (Phase.PREPARING, begin, Phase.TYPING),
        (Phase.TYPING, Cell.typed, Phase.RUNNING),
        (Phase.RUNNING, ask, Phase.WAITING),
        (Phase.WAITING, Cell.resume, Phase.RUNNING),
        *((phase, finish, Phase.ENDED) for phase in Phase),
    ],
)
def test_each_row_of_the_table_changes_the_phase(phase: Phase, step: Step, then: Phase) -> None:
    """
    Each transition of the table leads to its next phase and sets `changed`.
    """
    cell = cell_in(phase)

    step(cell)

    assert cell.phase is then
    assert cell.changed.is_set()


@pytest.mark.parametrize(
    ("phase", "step"),
    [
        (Phase.PREPARING, Cell.typed),
        (Phase.WAITING, Cell.typed),
        (Phase.ENDED, Cell.typed),
        (Phase.PREPARING, Cell.resume),
        (Phase.TYPING, Cell.resume),
        (Phase.RUNNING, Cell.resume),
        (Phase.ENDED, Cell.resume),
    ],
)
def test_a_step_that_comes_in_another_phase_changes_nothing(phase: Phase, step: Step) -> None:
    """
    A cell that ended while its code was typed stays ended, and only a waiting cell resumes.
    """
    cell = cell_in(phase)

    step(cell)

    assert cell.phase is phase
    assert not cell.changed.is_set()


def test_what_was_fixed_is_known_once_the_code_is_typed() -> None:
    """
    The start and the modes of the terminal are kept, and the cell began when it was typed.
    """
    cell = cell_in(Phase.PREPARING)

    cell.begin(START, modes=[1, 2])

    assert (cell.start, cell.modes, cell.began) == (START, [1, 2], START.began)


def test_a_waiting_cell_says_what_it_waits_for() -> None:
    """
    The question and the hint are known while the cell waits, and not after the answer.
    """
    cell = cell_in(Phase.RUNNING)

    cell.ask("secret", "leave it with q")
    asked = (cell.waiting_for, cell.hint)
    cell.resume()

    assert asked == ("secret", "leave it with q")
    assert (cell.waiting_for, cell.hint) == (None, None)


def test_a_cell_that_ended_waits_for_nothing() -> None:
    """
    The end of a waiting cell removes its question and its hint.
    """
    cell = cell_in(Phase.WAITING)

    cell.finish(DONE)

    assert (cell.waiting_for, cell.hint, cell.result) == (None, None, DONE)


@pytest.mark.parametrize(
    ("phase", "runs", "settled"),
    [
        (Phase.PREPARING, False, False),
        (Phase.TYPING, False, False),
        (Phase.RUNNING, True, False),
        (Phase.WAITING, True, True),
        (Phase.ENDED, False, True),
    ],
)
def test_the_phase_says_whether_a_cell_runs_and_is_settled(
    phase: Phase, *, runs: bool, settled: bool
) -> None:
    """
    A cell runs after its code was typed, and is settled when it waits or has ended.
    """
    cell = cell_in(phase)

    assert (cell.runs, cell.settled) == (runs, settled)


# -- overdue and interrupting


@pytest.mark.parametrize(
    ("phase", "status"),
    [
        (Phase.PREPARING, Status.RUNNING),
        (Phase.TYPING, Status.RUNNING),
        (Phase.RUNNING, Status.RUNNING),
        (Phase.WAITING, Status.WAITING),
        (Phase.ENDED, Status.DONE),
    ],
)
def test_the_status_follows_the_phase(phase: Phase, status: Status) -> None:
    """
    A cell in time is running until it waits or has ended.
    """
    assert cell_in(phase).status is status


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.ENDED])
def test_a_cell_that_takes_too_long_is_overdue(phase: Phase) -> None:
    """
    An overdue cell has the status timeout in every phase, and its phase stays.
    """
    cell = cell_in(phase)

    first = cell.expire()

    assert first
    assert (cell.phase, cell.status) == (phase, Status.TIMEOUT)
    assert cell.changed.is_set()


def test_a_cell_is_overdue_only_once() -> None:
    """
    The second expiry of a cell is not reported and changes nothing.
    """
    cell = cell_in(Phase.RUNNING)
    cell.expire()
    cell.changed.clear()

    again = cell.expire()

    assert not again
    assert not cell.changed.is_set()


def test_a_cell_that_ended_cannot_become_overdue() -> None:
    """
    A limit that passes after the end is not reported.
    """
    cell = cell_in(Phase.ENDED)

    late = cell.expire()

    assert not late
    assert cell.status is Status.DONE
    assert not cell.changed.is_set()


def test_the_end_of_an_overdue_cell_is_its_status() -> None:
    """
    The result of a cell counts more than that it took too long.
    """
    cell = cell_in(Phase.RUNNING)
    cell.expire()

    cell.finish(msgspec.structs.replace(DONE, status=Status.ERROR))

    assert cell.status is Status.ERROR


def test_a_cell_that_is_interrupted_keeps_its_phase() -> None:
    """
    Stopping a cell begins and may fail while the cell runs on.
    """
    cell = cell_in(Phase.RUNNING)
    before = cell.interrupting

    cell.interrupt()
    during = cell.interrupting
    cell.survive()

    assert (before, during, cell.interrupting) == (False, True, False)
    assert (cell.phase, cell.status) == (Phase.RUNNING, Status.RUNNING)


def test_a_block_of_code_gets_one_enter() -> None:
    """
    The first nudge is allowed and every later one is refused.
    """
    cell = cell_in(Phase.RUNNING)

    assert [cell.nudge(), cell.nudge(), cell.nudge()] == [True, False, False]


def test_reported_timeouts_are_counted() -> None:
    """
    A cell knows how often a poll has answered that it timed out.
    """
    cell = cell_in(Phase.RUNNING)
    before = cell.timeouts_reported

    cell.report_timeout()
    cell.report_timeout()

    assert (before, cell.timeouts_reported) == (0, 2)


# -- whether its result is kept


def test_the_result_of_a_fired_cell_is_kept() -> None:
    """
    Nobody waits for a fired cell, so its result must be kept.
    """
    assert cell_in(Phase.RUNNING, fired=True).kept


def test_the_result_of_a_cell_with_a_caller_is_not_kept() -> None:
    """
    A caller that stays to the end gets the result itself.
    """
    cell = cell_in(Phase.ENDED)
    before = cell.kept

    cell.leave()

    assert (before, cell.kept) == (False, False)


@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.WAITING])
def test_the_result_of_a_cell_whose_caller_left_is_kept(phase: Phase) -> None:
    """
    A caller that was answered before the end has not got the result.
    """
    cell = cell_in(phase)

    cell.leave()
    cell.finish(DONE)

    assert cell.kept


# -- waiting for a change


def test_a_condition_that_is_true_needs_no_change() -> None:
    """
    Waiting for what is true already returns at once.
    """
    cell = cell_in(Phase.ENDED)

    asyncio.run(cell.until(lambda: cell.settled))


def test_several_callers_wait_for_their_own_conditions() -> None:
    """
    Each change wakes every caller, and each returns when its own condition is true.
    """

    async def story() -> None:
        cell = cell_in(Phase.TYPING)
        loop = asyncio.get_running_loop()
        runs = loop.create_task(cell.until(lambda: cell.runs))
        ended = loop.create_task(cell.until(lambda: cell.result is not None))
        await next_turn()

        cell.expire()
        await next_turn()
        after_expiry = (runs.done(), ended.done())
        cell.typed()
        await runs
        after_typing = ended.done()
        cell.finish(DONE)
        await ended

        assert after_expiry == (False, False)
        assert not after_typing

    asyncio.run(story())


# -- which marks are of a cell


@pytest.mark.parametrize(
    ("kind", "number", "owned"),
    [
        ("D", 6, False),
        ("D", 7, False),
        ("D", 8, True),
        ("C", 6, False),
        ("C", 7, True),
        ("P", 7, True),
        ("B", 8, True),
    ],
)
def test_a_numbered_mark_is_known_by_its_number(kind: Kind, number: int, *, owned: bool) -> None:
    """
    The end of a cell has a later number than its prompt; its other marks have the same or later.
    """
    old_place = 0

    assert START.owns(marked(kind, number, old_place)) is owned


@pytest.mark.parametrize(
    ("number", "expected"), [(None, None), (None, 7), (8, None)], ids=["neither", "mark", "cell"]
)
@pytest.mark.parametrize(
    ("place", "line", "owned"),
    [(99, b"", False), (100, b"", True), (97, b"$ ", False), (98, b"$ ", True), (101, b"", True)],
)
def test_a_mark_without_a_number_is_known_by_its_place(
    number: int | None, expected: int | None, place: int, line: bytes, *, owned: bool
) -> None:
    """
    Without both numbers, a mark is of the cell if it stands where the code was typed or later.
    """
    start = msgspec.structs.replace(START, number=expected)

    assert start.owns(marked("D", number, place, line)) is owned


# -- cells of a host that died


def test_a_cell_of_a_dead_host_is_resumed_as_running() -> None:
    """
    A resumed cell runs, keeps its id, limit and start, and its result will be kept.
    """
    cell = Cell.resumed(START)

    assert (cell.id, cell.limit, cell.start, cell.modes) == (ID, START.limit, START, None)
    assert (cell.phase, cell.began, cell.kept) == (Phase.RUNNING, START.began, True)


def test_a_result_from_a_file_is_a_cell_that_has_ended() -> None:
    """
    A cell that is made from its result has ended with that result, which is kept.
    """
    cell = Cell.ended(DONE)

    assert (cell.id, cell.phase, cell.result, cell.status) == (ID, Phase.ENDED, DONE, Status.DONE)
    assert cell.kept
