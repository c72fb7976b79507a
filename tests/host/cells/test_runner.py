"""Cells on a real terminal: the test is the program and sends the marks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partialmethod
from typing import Any, TypeVar, cast

import pytest

from agent_pty.core.tty_state import TtyState
from agent_pty.errors import Busy, CellActive, InterruptFailed, NotReady, SessionEnded
from agent_pty.host import events
from agent_pty.host.cells.cell import Cell, CellStart, Phase
from agent_pty.host.cells.completion import INCOMPLETE
from agent_pty.host.cells.foreground import Foreground, Reader
from agent_pty.host.cells.line_check import LineCheck
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.cells.results import Results
from agent_pty.host.cells.runner import CellRunner
from agent_pty.host.principal import Principal
from agent_pty.host.terminal.input import Input
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.host.terminal.writer import Writer
from agent_pty.ops.cell_model import Status
from agent_pty.ops.model import Ending
from support.terminal import NONCE, Program, program

PERSON = Principal(kind="human", transport="unix")
_SECONDS = 30.0
# More than a test may take.
LONG = 60.0
Answer = TypeVar("Answer")


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test; one that waits for ever fails."""
    asyncio.run(asyncio.wait_for(story(), _SECONDS))


def mark(kind: str, number: int, code: str = "") -> str:
    """Write a mark as an integrated program does."""
    return f"\x1b]133;{kind};{code};apty={NONCE}.{number}\x07"


def prompt(number: int, code: str = "") -> str:
    """Write a marked prompt, which ends the command before it."""
    return f"{mark('D', number, code)}$ {mark('B', number)}"


class Observed:
    """Takes the place of `observe`: nobody reads until the test says so; the line is the real one.

    *naps* is how often the reader has slept: another number means that it did something.
    """

    def __init__(self) -> None:
        self.naps: int | None = None
        self.own = True
        self.echo = True
        self.alternate = False
        self.name = "bash"
        self._count = 0
        self._again = asyncio.Event()

    def __call__(self, terminal: Terminal) -> Foreground:
        """Observe."""
        self._count += 1
        self._again.set()
        reader = None if self.naps is None else Reader(pid=100, naps=self.naps)
        tty = TtyState(
            reading=reader is not None,
            own=self.own,
            line_mode=True,
            echo=self.echo,
            alternate=self.alternate,
            line=terminal.output.transcript.pending.decode(),
        )
        return Foreground(tty=tty, reader=reader, name=self.name, drawn=0, image=1)

    async def times(self, count: int) -> None:
        """Return after *count* more observations."""
        wanted = self._count + count
        while self._count < wanted:
            self._again.clear()
            await self._again.wait()


class Handled:
    """The last listener: everybody else has handled what it notices."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notice(self, event: events.Event | events.Signal) -> None:
        """Wake whoever waits."""
        del event
        self._event.set()

    async def until(self, done: Callable[[], bool]) -> None:
        """Return once *done* is true after an event."""
        while not done():
            self._event.clear()
            await self._event.wait()


class EmptyLine:
    """A prompt at which nothing was typed."""

    async def admit(self, code: str) -> None:
        """Find nothing, and permit everything."""


EMPTY = cast("LineCheck", EmptyLine())


class Session:
    """A runner and the program's end of its terminal."""

    def __init__(self, one: Program, *, integrated: str | None, frame: str) -> None:
        self.one = one
        self.input = Input(one.terminal)
        self.results = Results(one.output.directory, one.output)
        readiness = Readiness(one.terminal, program=integrated)
        self.runner = CellRunner(
            one.terminal, self.input, readiness, self.results, EMPTY, frame=frame
        )
        self._handled = Handled()
        self._tasks: set[asyncio.Task[Any]] = set()
        one.log.add(self.runner, self._handled)

    @property
    def cells(self) -> list[str]:
        """The statuses of all `cell` events so far, in order."""
        heard = self.one.heard.events
        return [event.status for event in heard if isinstance(event, events.CellChanged)]

    async def says(self, text: str) -> None:
        """Let the program write, and return when the runner has handled all of it."""
        data, output = text.encode(), self.one.output
        end = output.written + len(data)
        self.one.writes(data)
        await self._handled.until(lambda: output.written >= end)

    def starts(self, work: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        """Do something beside the test."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        return task

    def runs(self, code: str, *, limit: float | None = None) -> asyncio.Task[Cell]:
        """Run code beside the test."""
        return self.starts(self.runner.run(code, limit=limit, patience=LONG))

    async def fires(self, code: str, *, limit: float | None = None) -> Cell:
        """Start code at a first prompt; return when it was typed."""
        await self.says(prompt(1))
        cell = await self.runner.fire(code, limit=limit, patience=LONG)
        await self.one.read_until(code.encode() + b"\r")
        return cell

    async def ends(self, cell: Cell) -> None:
        """Return when a cell has ended."""
        await cell.until(lambda: cell.result is not None)

    def text(self, cell: Cell) -> str:
        """Return the whole output of a cell that has ended."""
        assert cell.result is not None
        return cell.result.output.read(self.one.output.log, 0, 1 << 16).text


@contextlib.asynccontextmanager
async def session(
    *, integrated: str | None = "bash", frame: str = "ladder"
) -> AsyncIterator[Session]:
    """Open a terminal that takes what is typed as it is, and a runner."""
    with program() as one:
        one.raw()
        opened = Session(one, integrated=integrated, frame=frame)
        one.terminal.start()
        try:
            yield opened
        finally:
            opened.runner.close()
            one.terminal.stop_reading()
            one.terminal._program.close()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Observe every millisecond."""
    monkeypatch.setattr("agent_pty.host.cells.poller._FIRST", 0.001)
    monkeypatch.setattr("agent_pty.host.cells.poller._RAREST", 0.001)


@pytest.fixture
def observed(monkeypatch: pytest.MonkeyPatch) -> Observed:
    """The foreground as the test says it is."""
    fake = Observed()
    monkeypatch.setattr("agent_pty.host.cells.readiness.observe", fake)
    return fake


@pytest.fixture
def one_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupts press Ctrl-C once and wait long for its effect."""
    monkeypatch.setattr("agent_pty.host.cells.interrupt._ATTEMPTS", (("ctrl-c", LONG),))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupts press Ctrl-C once and do not wait for its effect."""
    monkeypatch.setattr("agent_pty.host.cells.interrupt._ATTEMPTS", (("ctrl-c", 0.0),))


# -- to the end


def test_a_cell_runs_to_its_end() -> None:
    """
    The result has the output between the marks, the exit code, the directory and the time.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("make")
            await one.says(prompt(1))
            typed = await one.one.read_until(b"\r")

            await one.says(f"make\r\n{mark('C', 1)}built\r\n{prompt(2, '3')}")
            cell = await running

            assert typed == b"make\r"
            assert one.text(cell) == "built"
            assert cell.result is not None
            assert (cell.result.status, cell.result.frame) == (Status.DONE, "marks")
            assert (cell.result.exit_code, cell.result.error) == (3, None)
            assert cell.result.cwd == os.getcwd()
            passed = (time.monotonic() - cell.began) * 1000
            assert 0 <= cell.result.duration_ms <= passed
            assert one.cells == ["fired", "done"]

    run(story)


def test_a_result_that_its_caller_got_is_not_kept() -> None:
    """
    After a run the session is free, and nothing waits to be collected.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("make")
            await one.says(prompt(1))
            await one.one.read_until(b"\r")
            await one.says(prompt(2, "0"))
            cell = await running

            assert one.runner.active is None
            assert one.results.last is cell
            assert one.results.newest() is None
            assert one.runner.capture_of(cell) is None

    run(story)


def test_cells_run_one_after_another() -> None:
    """
    The second cell runs at the prompt that ended the first one, and has its own output.
    """

    async def story() -> None:
        async with session() as one:
            await one.says(prompt(1))
            outputs = []
            for number, code in enumerate(["first", "second"], start=1):
                running = one.runs(code)
                await one.one.read_until(code.encode() + b"\r")
                await one.says(f"{code}\r\n{mark('C', number)}of {code}{prompt(number + 1, '0')}")
                outputs.append(one.text(await running))

            assert outputs == ["of first", "of second"]
            assert one.cells == ["fired", "done", "fired", "done"]

    run(story)


def test_a_running_cell_is_active() -> None:
    """
    While a cell runs, it is the active one, it runs, and its output so far can be read.
    """

    async def story() -> None:
        async with session() as one:
            first = await one.fires("ls")
            await one.says(prompt(2, "0"))
            cell = await one.runner.fire("make", limit=None, patience=LONG)
            await one.says(f"make\r\n{mark('C', 2)}half")

            capture = one.runner.capture_of(cell)

            assert one.runner.active is cell
            assert one.runner.capture_of(first) is None
            assert (cell.phase, cell.status) == (Phase.RUNNING, Status.RUNNING)
            assert capture is not None
            assert capture.so_far().read(one.one.output.log, 0, 100).text == "half"

    run(story)


def test_the_frame_of_the_session_decides_the_end(observed: Observed) -> None:
    """
    In a session with an exact prompt, that prompt ends a cell and marks do not.
    """

    async def story() -> None:
        async with session(integrated=None, frame="exact:(gdb)") as one:
            await one.says("(gdb) ")
            observed.naps = 1
            running = one.runs("p 1")
            await one.one.read_until(b"\r")

            await one.says(f"p 1\r\n$1 = 1\r\n{mark('D', 1)}(gdb) ")
            observed.naps = 2
            cell = await running

            assert one.text(cell) == "$1 = 1"
            assert cell.result is not None
            assert cell.result.frame == "exact"

    run(story)


# -- the prompt before it


def test_nothing_is_typed_before_the_prompt() -> None:
    """
    Code that is run while another command runs is typed at the next prompt.
    """

    async def story() -> None:
        async with session() as one:
            await one.says(prompt(1) + mark("C", 1))
            running = one.runs("make")
            await one.says("still busy\r\n")
            before = one.one.reads()

            await one.says(prompt(2))
            after = await one.one.read_until(b"\r")
            await one.says(prompt(3, "0"))
            await running

            assert (before, after) == (b"", b"make\r")

    run(story)


@pytest.mark.parametrize(("naps", "does"), [(1, "waits for input"), (None, "is running")])
def test_a_program_that_is_not_at_a_prompt_is_named(
    observed: Observed, naps: int | None, does: str
) -> None:
    """
    When the patience ends, the error says what the program does; nothing was typed.
    """
    observed.naps, observed.name, observed.own = naps, "vim", False

    async def story() -> None:
        async with session() as one:
            with pytest.raises(NotReady, match=f"not at a prompt: vim {does}"):
                await one.runner.run("make", limit=None, patience=0.0)

            assert one.one.reads() == b""
            assert one.runner.active is None
            assert one.cells == []

    run(story)


def test_a_line_that_somebody_entered_ends_the_prompt() -> None:
    """
    After Enter of a person, a cell must wait for the next prompt; other keys do not matter.
    """

    async def story() -> None:
        async with session() as one:
            await one.says(prompt(1))
            await one.input.type("vim", enter=False)
            await one.runner.ready(0.0)

            await one.input.type("", enter=True)

            with pytest.raises(NotReady):
                await one.runner.ready(0.0)

    run(story)


def test_a_caller_that_leaves_before_the_prompt_frees_the_session() -> None:
    """
    A run that is cancelled while it waits for a prompt types nothing.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("make")
            await one.says("busy\r\n")
            active = one.runner.active

            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

            assert active is not None
            assert one.runner.active is None
            assert one.one.reads() == b""

    run(story)


def test_a_prompt_without_marks_is_observed(observed: Observed) -> None:
    """
    Where no marks come, the prompt of the program that reads begins and ends a cell.
    """

    async def story() -> None:
        async with session(integrated=None) as one:
            await one.says(">>> ")
            observed.naps = 1
            running = one.runs("1 + 1")
            await one.one.read_until(b"\r")

            await one.says("1 + 1\r\n2\r\n>>> ")
            observed.naps = 2
            cell = await running

            assert one.text(cell) == "2"
            assert cell.result is not None
            assert (cell.result.frame, cell.result.exit_code) == ("tty", None)

    run(story)


def test_a_reader_that_has_not_stirred_has_not_seen_the_code(observed: Observed) -> None:
    """
    The prompt from before the cell is not its end while the reader sleeps as before.
    """

    async def story() -> None:
        async with session(integrated=None) as one:
            await one.says(">>> ")
            observed.naps = 1
            running = one.runs("1 + 1")
            await one.one.read_until(b"\r")

            await observed.times(10)
            early = running.done()
            observed.naps = 2
            await running

            assert not early

    run(story)


def test_a_program_that_reads_is_typed_into_if_it_has_no_marks(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A program of no known kind is ready when it was seen reading several times.
    """
    monkeypatch.setattr("agent_pty.host.cells.readiness._MARKS_LATE", 1e9)

    async def story() -> None:
        async with session(integrated=None) as one:
            await one.says("Your wish? ")
            observed.naps = 1

            await one.runner.ready(LONG)

            assert one.one.reads() == b""

    run(story)


def test_a_program_with_integration_has_time_to_send_its_first_mark(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    An integrated program that reads is not ready as long as its first mark may still come.
    """
    monkeypatch.setattr("agent_pty.host.cells.readiness._MARKS_LATE", 1e9)

    async def story() -> None:
        async with session() as one:
            await one.says("Last login: today ")
            observed.naps = 1
            waiting = one.starts(one.runner.ready(LONG))

            await observed.times(20)
            waited = waiting.done()
            waiting.cancel()

            assert not waited

    run(story)


def test_a_program_whose_first_mark_is_late_is_observed(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    An integrated program that reads and has sent no mark in time is ready.
    """
    monkeypatch.setattr("agent_pty.host.cells.readiness._MARKS_LATE", 0.0)

    async def story() -> None:
        async with session() as one:
            await one.says("Last login: today ")
            observed.naps = 1

            await one.runner.ready(LONG)

            assert one.one.reads() == b""

    run(story)


def test_a_program_that_stops_sending_marks_is_observed(observed: Observed) -> None:
    """
    A prompt of its own that stays without a mark ends the time in which only marks count.
    """

    async def story() -> None:
        async with session() as one:
            await one.says(prompt(1) + mark("C", 1) + "PS1 is new\r\n$ ")
            observed.naps = 1

            running = one.runs("make")
            await one.one.read_until(b"make\r")
            await one.says("make\r\nbuilt\r\n$ ")
            observed.naps = 2
            cell = await running

            assert one.text(cell) == "built"
            assert cell.result is not None
            assert cell.result.frame == "tty"

    run(story)


def test_a_question_is_no_lost_mark(observed: Observed) -> None:
    """
    While a line that looks like no prompt stays, the marks of the program are still expected.
    """

    async def story() -> None:
        async with session() as one:
            await one.says(prompt(1) + mark("C", 1) + "Continue? ")
            observed.naps = 1
            waiting = one.starts(one.runner.ready(LONG))

            await observed.times(20)
            waited = waiting.done()
            waiting.cancel()

            assert not waited

    run(story)


# -- one at a time


def test_a_second_cell_is_refused() -> None:
    """
    While a cell has the session, another one is refused and nothing of it is typed.
    """

    async def story() -> None:
        async with session() as one:
            first = await one.fires("make")

            with pytest.raises(CellActive) as caught:
                await one.runner.run("ls", limit=None, patience=LONG)
            await one.says(prompt(2, "0"))

            details = caught.value.details
            assert details.pop("running_ms") >= 0
            assert details == {"cell_id": first.id, "code": "make", "for": None}
            assert one.one.reads() == b""
            assert first.status is Status.DONE
            assert one.cells == ["fired", "done"]

    run(story)


def test_a_cell_that_waits_for_its_prompt_has_the_session() -> None:
    """
    A second cell is refused before the first one was typed, too.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("make")
            await one.says("busy\r\n")

            with pytest.raises(CellActive):
                await one.runner.fire("ls", limit=None, patience=LONG)

            assert not running.done()
            running.cancel()

    run(story)


def test_code_that_the_program_does_not_take_frees_the_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    When a program reads only a part of the code, the caller learns it and the session is free.
    """
    monkeypatch.setattr(Writer, "finish", partialmethod(Writer.finish, patience=0.01))

    async def story() -> None:
        async with session() as one:
            await one.says("\x1b[?2004h" + prompt(1))

            with pytest.raises(Busy):
                await one.runner.run("x" * 1_000_000, limit=None, patience=LONG)

            assert one.runner.active is None

    run(story)


# -- limits


def test_a_run_that_takes_too_long_is_answered_and_goes_on() -> None:
    """
    After its limit a cell is reported as timed out; it keeps the session, and its result is kept.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("make", limit=0.01)
            await one.says(prompt(1))
            cell = await running
            answered = (cell.status, one.runner.active, list(one.cells))

            await one.says(prompt(2, "0"))

            assert answered == (Status.TIMEOUT, cell, ["fired", "timeout"])
            assert cell.status is Status.DONE
            assert one.results.find(cell.id) is cell
            assert one.cells == ["fired", "timeout", "done"]

    run(story)


def test_a_fired_cell_has_a_limit_too() -> None:
    """
    A fired cell that takes too long is reported once as timed out, and goes on.
    """

    async def story() -> None:
        async with session() as one:
            cell = await one.fires("make", limit=0.01)

            await cell.until(lambda: cell.status is Status.TIMEOUT)
            active = one.runner.active
            await one.says(prompt(2, "0"))

            assert active is cell
            assert one.cells == ["fired", "timeout", "done"]

    run(story)


# -- fired cells


def test_the_result_of_a_fired_cell_is_kept_until_it_is_collected() -> None:
    """
    Firing returns when the code was typed; the result is found later by its id.
    """

    async def story() -> None:
        async with session() as one:
            cell = await one.fires("make")
            began = cell.result

            await one.says(f"make\r\n{mark('C', 1)}built\r\n{prompt(2, '0')}")

            assert began is None
            assert one.results.find(cell.id) is one.results.newest() is cell
            assert one.text(cell) == "built"

    run(story)


def test_a_fired_cell_is_continued_by_another_host() -> None:
    """
    A runner of another host takes over the cell that ran, sees its end and keeps its result.
    """

    async def story() -> None:
        async with session() as one:
            first = await one.fires("make")
            output = one.one.output
            results = Results(output.directory, output)
            readiness = Readiness(one.one.terminal, program="bash")
            other = CellRunner(
                one.one.terminal, one.input, readiness, results, EMPTY, frame="ladder"
            )
            one.one.log.add(other)

            other.resume()
            resumed = other.active
            await one.says(f"make\r\n{mark('C', 1)}built\r\n{prompt(2, '7')}")
            other.close()

            assert resumed is not None
            assert (resumed.id, resumed.fired, resumed.phase) == (first.id, True, Phase.ENDED)
            assert results.find(first.id) is resumed
            assert one.text(resumed) == "built"
            assert resumed.result is not None
            assert resumed.result.exit_code == 7

    run(story)


def test_a_cell_that_ended_is_not_continued() -> None:
    """
    After the end of a fired cell, another host finds no running cell.
    """

    async def story() -> None:
        async with session() as one:
            await one.fires("make")
            await one.says(prompt(2, "0"))

            one.runner.resume()

            assert one.runner.active is None

    run(story)


def test_the_limit_of_a_continued_cell_counts_from_its_beginning() -> None:
    """
    A cell whose limit passed while no host was there is reported as timed out at once.
    """

    async def story() -> None:
        async with session() as one:
            one.results.begin(
                CellStart(
                    cell_id="0123456789ab",
                    frame="ladder",
                    typed=0,
                    lines=["make"],
                    echoed=True,
                    line_mode=False,
                    drawn=0,
                    number=1,
                    prompt="$ ",
                    began=time.monotonic() - 100,
                    limit=99.0,
                )
            )

            one.runner.resume()
            cell = one.runner.active
            assert cell is not None
            await cell.until(lambda: cell.status is Status.TIMEOUT)

            assert one.cells == ["timeout"]

    run(story)


# -- questions


@pytest.mark.parametrize(("echo", "waits_for"), [(True, "input"), (False, "secret")])
def test_a_cell_that_asks_a_person_is_answered_as_waiting(
    observed: Observed, waits_for: str, *, echo: bool
) -> None:
    """
    A run returns when its program asks; what it waits for depends on the echo.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("sudo make")
            await one.says(prompt(1))
            await one.one.read_until(b"\r")
            await one.says(f"sudo make\r\n{mark('C', 1)}Say: ")

            observed.naps, observed.own, observed.echo = 1, False, echo
            cell = await running

            assert (cell.phase, cell.status) == (Phase.WAITING, Status.WAITING)
            assert (cell.waiting_for, cell.hint) == (waits_for, None)
            assert one.runner.active is cell
            told = one.one.heard.events[-1]
            assert isinstance(told, events.CellChanged)
            assert (told.cell_id, told.status) == (cell.id, "waiting")
            assert told.waiting_for == waits_for

    run(story)


def test_a_question_is_reported_once(observed: Observed) -> None:
    """
    As long as a cell waits for the same answer, no second event is published.
    """

    async def story() -> None:
        async with session() as one:
            cell = await one.fires("read x")
            await one.says(f"read x\r\n{mark('C', 1)}? ")
            observed.naps = 1
            await cell.until(lambda: cell.phase is Phase.WAITING)

            await observed.times(20)

            assert one.cells == ["fired", "waiting"]

    run(story)


def test_a_cell_that_was_answered_ends_later(observed: Observed) -> None:
    """
    An answer resumes the cell; its result is kept, because its caller was answered before.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("read x")
            await one.says(prompt(1))
            await one.one.read_until(b"\r")
            await one.says(f"read x\r\n{mark('C', 1)}? ")
            observed.naps = 1
            cell = await running

            await one.input.type("yes", enter=True)
            answered = cell.phase
            await one.says(f"yes\r\n{prompt(2, '0')}")

            assert answered is Phase.RUNNING
            assert cell.status is Status.DONE
            assert one.results.find(cell.id) is cell
            assert one.cells == ["fired", "waiting", "done"]

    run(story)


def test_a_question_is_asked_again_only_after_its_reader_has_stirred(observed: Observed) -> None:
    """
    After an answer the cell runs until its reader has done something and reads again.
    """

    async def story() -> None:
        async with session() as one:
            cell = await one.fires("read x; read y")
            await one.says(f"read x; read y\r\n{mark('C', 1)}? ")
            observed.naps = 1
            await cell.until(lambda: cell.phase is Phase.WAITING)

            await one.input.type("yes", enter=True)
            await observed.times(20)
            before = cell.phase
            observed.naps = 2
            await cell.until(lambda: cell.phase is Phase.WAITING)

            assert before is Phase.RUNNING
            assert one.cells == ["fired", "waiting", "waiting"]

    run(story)


def test_trial_18_text_without_enter_leaves_the_question_open(observed: Observed) -> None:
    """
    In line mode a program gets nothing before Enter, so it still waits although it has not stirred.
    """

    async def story() -> None:
        async with session() as one:
            cell = await one.fires("read x")
            await one.says(f"read x\r\n{mark('C', 1)}? ")
            observed.naps = 1
            await cell.until(lambda: cell.phase is Phase.WAITING)

            await one.input.type("ye", enter=False)
            typed = cell.phase
            await cell.until(lambda: cell.phase is Phase.WAITING)

            assert typed is Phase.RUNNING

    run(story)


def test_trial_18_the_limit_of_a_fired_cell_ends_with_its_first_answer(observed: Observed) -> None:
    """
    From then on the limits of the answers count, so its next question is no timeout.
    """

    async def story() -> None:
        async with session() as one:
            limit = 0.5
            cell = await one.fires("read x; read y", limit=limit)
            cell.answer()
            await one.says(f"read x; read y\r\n{mark('C', 1)}? ")
            observed.naps = 1

            # An event loop carries out what was due first.
            over = asyncio.get_running_loop().create_future()
            loop = asyncio.get_running_loop()
            loop.call_at(cell.began + limit + 0.1, over.set_result, None)
            await over
            await cell.until(lambda: cell.phase is Phase.WAITING)

            assert cell.status is Status.WAITING
            assert "timeout" not in one.cells

    run(story)


def test_a_cell_that_works_again_does_not_wait(observed: Observed) -> None:
    """
    A program that stops reading without an answer has resumed its work.
    """

    async def story() -> None:
        async with session() as one:
            cell = await one.fires("make")
            await one.says(f"make\r\n{mark('C', 1)}Go on in 3 s? ")
            observed.naps = 1
            await cell.until(lambda: cell.phase is Phase.WAITING)

            observed.naps = None
            await cell.until(lambda: cell.phase is Phase.RUNNING)

            assert cell.status is Status.RUNNING

    run(story)


def test_a_full_screen_program_waits_with_a_hint(observed: Observed) -> None:
    """
    A cell that started a full-screen program says how to leave it.
    """

    async def story() -> None:
        async with session() as one:
            cell = await one.fires("less file")
            await one.says(f"less file\r\n{mark('C', 1)}")
            observed.naps, observed.own = 1, False
            observed.alternate, observed.name = True, "less"

            await cell.until(lambda: cell.phase is Phase.WAITING)

            assert cell.waiting_for == "input"
            assert cell.hint == "less has the whole screen; leave it with keys: q"

    run(story)


def test_a_continued_block_gets_one_enter_and_then_is_a_question(observed: Observed) -> None:
    """
    At the continuation prompt of Python we press Enter once; the second time a person must help.
    """

    async def story() -> None:
        async with session(integrated=None) as one:
            await one.says(">>> ")
            observed.naps = 1
            cell = await one.runner.fire("if x:", limit=None, patience=LONG)
            await one.one.read_until(b"\r")
            await one.says("if x:\r\n... ")
            observed.naps = 2

            nudged = await one.one.read_until(b"\r")
            observed.naps = 3
            await cell.until(lambda: cell.phase is Phase.WAITING)

            assert nudged == b"\r"
            assert one.one.reads() == b""
            given = [event for event in one.one.heard.events if isinstance(event, events.Input)]
            assert [(event.kind, event.by and event.by.kind) for event in given] == [
                ("cell", "agent"),
                ("nudge", "system"),
            ]

    run(story)


def test_code_that_is_not_whole_is_an_error_and_its_line_is_given_up(observed: Observed) -> None:
    """
    When the shell asks for the rest, the cell ends and Ctrl-C brings back the prompt.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("echo 'x")
            await one.says(prompt(1))
            await one.one.read_until(b"\r")

            await one.says(f"echo 'x\r\n{mark('P', 1)}> ")
            observed.naps = 1
            cell = await running
            pressed = await one.one.read_until(b"\x03")
            await one.says(f"^C\r\n{prompt(2, '130')}")
            await one.runner.ready(LONG)

            assert cell.result is not None
            assert (cell.result.status, cell.result.error) == (Status.ERROR, INCOMPLETE)
            assert pressed == b"\x03"
            assert one.cells == ["fired", "error"]

    run(story)


# -- the end of the program


@pytest.mark.parametrize(
    ("ending", "code"), [(Ending(code=3), 3), (Ending(signal=9), 137), (Ending(), None)]
)
def test_the_end_of_the_program_ends_its_cell(ending: Ending, code: int | None) -> None:
    """
    A cell ends as exited, with the status of the program and what it wrote until then.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("exit 3")
            await one.says(prompt(1))
            await one.one.read_until(b"\r")
            await one.says(f"exit 3\r\n{mark('C', 1)}last words")

            one.one.terminal.end(ending)
            cell = await running

            assert cell.result is not None
            assert (cell.result.status, cell.result.error) == (Status.ERROR, "exited")
            assert cell.result.exit_code == code
            assert one.text(cell) == "last words"
            assert one.runner.active is None
            assert one.cells == ["fired", "exited"]

    run(story)


def test_a_cell_ends_before_its_session_is_reported_as_exited() -> None:
    """
    A watcher gets the end of the cell first and the end of the session after it.
    """

    async def story() -> None:
        async with session() as one:
            await one.fires("exit")

            one.one.terminal.end(Ending(code=0))

            published = [event for event in one.one.heard.events if isinstance(event, events.Event)]
            assert [type(event) for event in published[-2:]] == [events.CellChanged, events.Exited]

    run(story)


def test_a_caller_that_waits_for_a_prompt_learns_that_the_program_ended() -> None:
    """
    The end of the program is the answer to who waits for its prompt, and to who comes later.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("make")
            await one.says("busy\r\n")

            one.one.terminal.end(Ending(code=3))

            with pytest.raises(SessionEnded) as caught:
                await running
            assert caught.value.details == {"exit_code": 3, "signal": None}
            with pytest.raises(SessionEnded):
                await one.runner.fire("ls", limit=None, patience=LONG)
            assert one.runner.active is None
            assert one.cells == []

    run(story)


# -- stopping


@pytest.mark.usefixtures("one_ctrl_c", "observed")
def test_an_interrupted_cell_ends_as_interrupted() -> None:
    """
    Ctrl-C is pressed, and the end that follows is reported as interrupted to both callers.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("make")
            await one.says(prompt(1))
            await one.one.read_until(b"\r")
            await one.says(f"make\r\n{mark('C', 1)}half")

            stopping = one.starts(one.runner.interrupt())
            pressed = await one.one.read_until(b"\x03")
            await one.says(prompt(2, "130"))
            cell = await running
            stopped = await stopping

            assert pressed == b"\x03"
            assert stopped is cell
            assert cell.result is not None
            assert (cell.result.status, cell.result.error) == (Status.ERROR, "interrupted")
            assert (cell.result.exit_code, one.text(cell)) == (130, "half")
            assert one.cells == ["fired", "interrupted"]

    run(story)


@pytest.mark.usefixtures("one_ctrl_c", "observed")
def test_a_caller_that_is_cancelled_interrupts_its_cell() -> None:
    """
    Nobody wants the result of a cell whose caller left, so it is stopped.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("make")
            await one.says(prompt(1))
            await one.one.read_until(b"\r")
            cell = one.runner.active
            assert cell is not None

            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            pressed = await one.one.read_until(b"\x03")
            await one.says(prompt(2, "130"))

            assert pressed == b"\x03"
            assert cell.result is not None
            assert cell.result.error == "interrupted"
            assert one.runner.active is None
            assert one.cells == ["fired", "interrupted"]

    run(story)


def test_an_interrupt_before_anything_was_typed_prevents_it() -> None:
    """
    A cell that is interrupted while it waits for a prompt ends there, and is never typed.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("make")
            await one.says("busy\r\n")

            stopped = await one.runner.interrupt()
            await one.says(prompt(1))
            cell = await running

            assert stopped is None
            assert one.one.reads() == b"\x03"
            assert cell.start is None
            assert cell.result is not None
            assert (cell.result.status, cell.result.error) == (Status.ERROR, "interrupted")
            assert one.runner.active is None
            assert one.cells == ["interrupted"]

    run(story)


def test_an_interrupt_without_a_cell_presses_ctrl_c() -> None:
    """
    Without a cell there is nothing to report: the key goes to the program.
    """

    async def story() -> None:
        async with session() as one:
            stopped = await one.runner.interrupt()

            assert stopped is None
            assert one.one.reads() == b"\x03"
            assert one.cells == []

    run(story)


@pytest.mark.usefixtures("impatient", "observed")
def test_a_cell_that_does_not_stop_runs_on() -> None:
    """
    The caller learns that the interrupt failed, and a later end of the cell is a normal one.
    """

    async def story() -> None:
        async with session() as one:
            cell = await one.fires("make")

            with pytest.raises(InterruptFailed) as caught:
                await one.runner.interrupt()
            active, interrupting = one.runner.active, cell.interrupting
            await one.says(prompt(2, "0"))

            assert caught.value.details == {"cell_id": cell.id}
            assert (active, interrupting) == (cell, False)
            assert cell.status is Status.DONE
            assert one.cells == ["fired", "done"]

    run(story)


@pytest.mark.usefixtures("impatient")
def test_a_shell_that_reads_after_ctrl_c_has_ended_the_cell(observed: Observed) -> None:
    """
    A shell that lost its marks is seen at its prompt after Ctrl-C and takes the next cell.
    """

    async def story() -> None:
        async with session() as one:
            cell = await one.fires("make")
            await one.says(f"make\r\n{mark('C', 1)}half\r\n")
            observed.naps = 1

            stopped = await one.runner.interrupt()
            await one.runner.ready(0.0)

            assert stopped is cell
            assert cell.result is not None
            assert (cell.result.error, one.text(cell)) == ("interrupted", "half")
            assert one.cells == ["fired", "interrupted"]

    run(story)


@pytest.mark.usefixtures("impatient")
def test_another_program_that_reads_after_ctrl_c_has_not_ended_the_cell(
    observed: Observed,
) -> None:
    """
    Only the session's own program can be at the prompt that ends an interrupted cell.
    """

    async def story() -> None:
        async with session() as one:
            cell = await one.fires("cat")
            observed.naps, observed.own = 1, False

            with pytest.raises(InterruptFailed):
                await one.runner.interrupt()

            assert cell.result is None

    run(story)


@pytest.mark.usefixtures("one_ctrl_c", "observed")
def test_a_closed_runner_stops_what_it_does_by_itself() -> None:
    """
    Closing ends an interrupt that nobody waits for.
    """

    async def story() -> None:
        async with session() as one:
            running = one.runs("make")
            await one.says(prompt(1))
            await one.one.read_until(b"\r")
            running.cancel()
            await one.one.read_until(b"\x03")
            (stopping,) = one.runner._background._tasks

            one.runner.close()
            await asyncio.wait({stopping})

            assert stopping.cancelled()

    run(story)


def test_a_person_may_type_into_a_running_cell() -> None:
    """
    Keys of a person reach the program while a cell runs, and do not end it.
    """

    async def story() -> None:
        async with session() as one:
            cell = await one.fires("cat")

            await one.input.press(b"hello\r", kind=InputKind.ATTACH, by=PERSON)

            assert await one.one.read_until(b"\r") == b"hello\r"
            assert cell.phase is Phase.RUNNING

    run(story)
