import datetime as dt
import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import msgspec
import pytest

from agent_pty.errors import UnknownCell
from agent_pty.host.cells.cell import Cell, CellStart, Result
from agent_pty.host.cells.output_range import OutputRange
from agent_pty.host.cells.results import Results
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.ops.cell_model import Status
from support.spool import new_ring

KEPT = 64
REMEMBERED = 1000


@pytest.fixture
def output(tmp_path: Path) -> Iterator[TerminalOutput]:
    """A session's output, of which there is none."""
    made = TerminalOutput.create(
        str(tmp_path), new_ring(), rows=24, cols=80, keep=1 << 20, nonce="5eed"
    )
    opened: AbstractContextManager[TerminalOutput] = closing(made)
    with opened as one:
        yield one


@pytest.fixture
def results(output: TerminalOutput) -> Results:
    """The past of a session that has none yet."""
    return Results(output.directory, output)


def ended(name: str, error: str | None = None) -> Result:
    """Tell how a cell ended."""
    return Result(
        cell_id=name,
        status=Status.DONE if error is None else Status.ERROR,
        output=OutputRange(start=3, end=7, tail=b"\xff\xe6"),
        frame="marks",
        exit_code=None if error else 3,
        error=error,
        cwd="/x",
        duration_ms=12,
    )


def fired(results: Results, name: str, error: str | None = None) -> Cell:
    """Let a fired cell end."""
    return finished(results, Cell(name, fired=True), error)


def finished(results: Results, cell: Cell, error: str | None = None) -> Cell:
    """Let a cell end."""
    result = ended(cell.id, error)
    cell.finish(result)
    results.add(cell, result)
    return cell


def files(results: Results) -> set[str]:
    """Name the files there are of cells."""
    return set(os.listdir(results._directory))


# -- until somebody collects it


def test_a_fired_cell_is_kept_until_it_is_collected(results: Results) -> None:
    """
    It is found as often as it is looked for, by its id or as the newest, and not after that.
    """
    cell = fired(results, "a")

    assert results.find("a") is results.find("a") is results.newest() is cell
    results.collect(cell)
    assert results.newest() is None
    with pytest.raises(UnknownCell) as caught:
        results.find("a")
    assert caught.value.details == {"cell_id": "a"}


def test_a_cell_whose_caller_waited_is_not_kept(results: Results) -> None:
    """
    It was told already: only its output can still be read, as that of the last.
    """
    cell = finished(results, Cell("a", fired=False))

    assert results.last is cell
    assert cell.result == ended("a")
    assert results.newest() is None
    with pytest.raises(UnknownCell):
        results.find("a")


def test_a_cell_whose_caller_left_is_kept(results: Results) -> None:
    """
    Whoever ran it was answered before it ended, so its result is still to be told.
    """
    cell = Cell("a", fired=False)
    cell.leave()

    finished(results, cell)

    assert results.find("a") is cell


def test_the_newest_is_the_one_that_ended_last(results: Results) -> None:
    """
    Collected ones are passed over, in whatever order they are collected.
    """
    _, second, third = (fired(results, name) for name in "abc")

    newest = results.newest()
    results.collect(third)
    before = results.newest()

    assert newest is third
    assert before is second


def test_trial_12_after_an_interrupted_cell_no_older_result_is_given(results: Results) -> None:
    """
    Whoever interrupted a cell would take an older result for its own; both are there by their id.
    """
    first = fired(results, "a")
    second = fired(results, "b", error="interrupted")

    assert results.newest() is None
    assert results.last is second
    assert results.find("b") is second
    assert results.find("a") is first


def test_trial_12_older_results_follow_when_the_interrupted_one_is_no_news(
    results: Results,
) -> None:
    """
    Once the interrupted cell was collected, or another cell has ended, the newest is given first.
    """
    first = fired(results, "a")
    second = fired(results, "b", error="interrupted")
    third = fired(results, "c")

    newest = results.newest()
    results.collect(third)
    before_collected = results.newest()
    results.collect(second)

    assert newest is third
    assert before_collected is first
    assert results.newest() is first


def test_another_error_is_news(results: Results) -> None:
    """
    That the program ended, or was not given a whole command, nobody knows yet.
    """
    assert fired(results, "a", error="exited") is results.newest()


def test_only_so_many_are_kept(results: Results) -> None:
    """
    Of results that nobody collects the oldest go, from the disk too.
    """
    for number in range(KEPT + 3):
        fired(results, str(number))

    assert len(files(results)) == KEPT
    assert results.find("3").id == "3"
    for number in range(3):
        with pytest.raises(UnknownCell):
            results.find(str(number))


# -- beyond the life of a host


def test_another_host_finds_what_was_not_collected(
    results: Results, output: TerminalOutput
) -> None:
    """
    Everything that is known of the result, to the byte; not what was collected.
    """
    fired(results, "a")
    results.collect(fired(results, "b"))

    again = Results(output.directory, output)

    assert again.find("a").result == ended("a")
    assert again.find("a").fired
    with pytest.raises(UnknownCell):
        again.find("b")


def test_collected_once_is_collected_for_all(results: Results, output: TerminalOutput) -> None:
    """
    A host that comes later does not give a result a second time.
    """
    fired(results, "a")
    second = Results(output.directory, output)

    second.collect(second.find("a"))

    assert files(results) == set()
    assert Results(output.directory, output).newest() is None


def test_another_host_knows_which_is_newest(results: Results, output: TerminalOutput) -> None:
    """
    The order is that in which they ended, and an interrupted one hides older ones there as well.
    """
    for age, (name, error) in enumerate([("a", "interrupted"), ("b", None), ("c", None)]):
        fired(results, name, error)
        os.utime(f"{results._directory}/{name}.json", (1e9 - age, 1e9 - age))

    again = Results(output.directory, output)
    hidden = again.newest()
    again.collect(again.find("a"))
    newest = again.newest()

    assert hidden is None
    assert newest is not None
    assert newest.id == "b"


def test_files_are_for_their_user_alone(results: Results) -> None:
    """
    What commands wrote may be secret.
    """
    fired(results, "a")

    assert stat.S_IMODE(os.stat(results._directory).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(f"{results._directory}/a.json").st_mode) == 0o600


def test_damaged_files_are_passed_over(results: Results, output: TerminalOutput) -> None:
    """
    Half a file, another kind of file and one that was not finished keep no session from going on.
    """
    fired(results, "a")
    unfinished = msgspec.json.encode(ended("d"))
    for name, data in {"b.json": b"{", "c.json": b"{}", "d.json.new": unfinished}.items():
        Path(results._directory, name).write_bytes(data)

    again = Results(output.directory, output)

    assert again.find("a").result == ended("a")
    for name in "bcd":
        with pytest.raises(UnknownCell):
            again.find(name)


def test_without_room_a_result_is_kept_in_memory(results: Results) -> None:
    """
    A disk that refuses costs only what a crash would find.
    """
    Path(results._directory).write_text("not a directory")

    cell = fired(results, "a")

    assert results.newest() is cell
    results.collect(cell)
    assert results.newest() is None


STARTED = CellStart(
    cell_id="a",
    frame="exact:>",
    typed=12,
    lines=["x", "y"],
    echoed=False,
    line_mode=True,
    drawn=7,
    number=3,
    prompt="> ",
    began=99.5,
    limit=5.0,
    reader=4711,
)


def test_another_host_goes_on_with_the_cell_that_runs(
    results: Results, output: TerminalOutput
) -> None:
    """
    All that was known of it when it was typed is needed to see it end.
    """
    results.begin(STARTED)

    found = Results(output.directory, output).take_running()

    assert found is not None
    assert (found.id, found.fired, found.limit, found.runs) == ("a", True, 5.0, True)
    assert found.start == STARTED


def test_a_cell_that_has_ended_does_not_run(results: Results, output: TerminalOutput) -> None:
    """
    Nor does one that never began, or whose note was damaged.
    """
    assert results.take_running() is None
    results.begin(STARTED)
    fired(results, "a")
    assert Results(output.directory, output).take_running() is None
    Path(results._directory, "running").write_text("{")
    assert results.take_running() is None


# -- what happened


def test_the_last_that_happened_to_a_cell_is_known(results: Results) -> None:
    """
    Also after it was collected, with the time, which is ours and has its offset.
    """
    results.note("a", "fired")
    results.note("b", "fired")
    results.note("a", "done")

    fact = results.fact("a")

    assert fact is not None
    assert (fact.cell_id, fact.status) == ("a", "done")
    assert dt.datetime.fromisoformat(fact.at).utcoffset() == dt.timedelta(0)
    assert results.fact("c") is None


def test_an_event_knows_its_place(results: Results, output: TerminalOutput) -> None:
    """
    Where the transcript was, so that the past can be told in order; a note has its words.
    """
    output.log.append(b"one\n")
    results.note("", "notify", message="mind the gap", who="bash@k:1")

    event = results.events[-1]

    assert (event.place, event.message, event.who) == (4, "mind the gap", "bash@k:1")
    assert event.fact.status == "notify"


def test_only_so_much_is_remembered(results: Results) -> None:
    """
    The oldest events go first.
    """
    for number in range(REMEMBERED + 1):
        results.note(str(number), "done")

    assert len(results.events) == REMEMBERED
    assert results.fact("0") is None
    assert results.fact("1") is not None
