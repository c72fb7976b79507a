"""Waits on a real terminal: the test is the program, and echoes what is typed itself."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

import pytest

from agent_pty.core.condition import Met
from agent_pty.errors import BadRequest, UnknownCell
from agent_pty.host import events
from agent_pty.host.terminal.input import Input
from agent_pty.host.waits.view import OVERLAP, STEP, WHOLE, InputPoint, TextView, point_now, window
from agent_pty.host.waits.waits import ProgramEnded, Waits
from agent_pty.ops.model import Ending
from support.terminal import NONCE, Program, program

_SECONDS = 30.0
# What the kernel takes for certain when nobody reads.
_PIECE = 2048
LINE = "x" * 79 + "\n"
PROMPT_MARK = f"\x1b]133;B;apty={NONCE}\x07"
COMMAND_MARK = f"\x1b]133;C;apty={NONCE}\x07"
ALTERNATE = "\x1b[?1049h"


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test; one that waits for ever fails."""
    asyncio.run(asyncio.wait_for(story(), _SECONDS))


class Session:
    """A terminal that takes what is typed as it is, and its waits."""

    def __init__(self, one: Program) -> None:
        self.one = one
        self.outcomes: dict[str, str | None] = {}
        self.waits = Waits(one.output, self._outcome)
        one.log.add(self.waits)
        self._input = Input(one.terminal)
        self._tasks: set[asyncio.Task[Met]] = set()

    def _outcome(self, cell_id: str) -> str | None:
        if cell_id not in self.outcomes:
            raise UnknownCell(f"unknown cell {cell_id}")
        return self.outcomes[cell_id]

    def says(self, text: str) -> None:
        """Let the program write; the waits have been told when this returns."""
        output, data = self.one.output, text.encode()
        for start in range(0, len(data), _PIECE):
            part = data[start : start + _PIECE]
            end = output.written + len(part)
            self.one.writes(part)
            while output.written < end:  # the kernel may give it in many small pieces
                output.take(self.one.master)
        batch = events.Batch(data=data, marks=output.take_marks(), replies=b"")
        self.one.log.signal(batch)

    async def types(self, text: str, *, enter: bool = True, echo: bool = True) -> None:
        """Type into the program, which echoes it at once."""
        await self._input.type(text, enter=enter)
        if echo:
            self.says(text.replace("\n", "\r\n") + "\r\n" * enter)

    def cell_changed(self) -> None:
        """Publish that something happened to a cell."""
        self.one.log.publish(events.CellChanged(cursor=0, cell_id="c", status="done"))

    async def wait(
        self,
        *until: str,
        fail_on: Sequence[str] = (),
        since: float | None = None,
        point: InputPoint | None = None,
        ended: bool = False,
    ) -> Met:
        """Wait since the last input."""
        return await self.waits.wait(
            until=until,
            fail_on=fail_on,
            point=self.waits.last_input if point is None else point,
            since=time.monotonic() if since is None else since,
            ended=ended,
        )

    async def begin(self, *until: str, **given: Any) -> asyncio.Task[Met]:
        """Begin to wait, and return when everything so far was searched."""
        task = asyncio.get_running_loop().create_task(self.wait(*until, **given))
        self._tasks.add(task)
        await next_turn()
        return task


@contextlib.contextmanager
def session(*, rows: int = 24, cols: int = 80) -> Iterator[Session]:
    """Open a terminal with nothing on it."""
    with program(rows=rows, cols=cols) as one:
        one.raw()
        yield Session(one)


async def next_turn() -> None:
    """Let every other task have one turn of the loop."""
    turn = asyncio.Event()
    asyncio.get_running_loop().call_soon(turn.set)
    await turn.wait()


def lines_of(size: int) -> str:
    """Return lines that are exactly *size* bytes in the transcript."""
    lines, rest = divmod(size, len(LINE))
    return (LINE * lines + "x" * (rest - 1) + "\n" * (rest > 0)).replace("\n", "\r\n")


# -- text


@pytest.mark.parametrize(
    ("condition", "found"),
    [("code 7", "code 7"), (r"regex:code \d+", "code 73"), ("regex:(?m)^done.*$", "done, code 73")],
)
def test_text_that_comes_later_meets_a_wait(condition: str, found: str) -> None:
    """
    The answer has the condition and the text that it found.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin(condition)
            one.says("building\r\n")
            await next_turn()
            early = waiting.done()

            one.says("done, code 73\r\n")
            met = await waiting

            assert not early
            assert met == Met(condition=condition, failing=False, found=found)

    run(story)


@pytest.mark.parametrize(
    "condition", ["regex:^error", "regex:zed$", "screen:^error", "screen:zed$"]
)
@pytest.mark.parametrize("failing", [False, True])
def test_trial_11_a_pattern_matches_at_the_borders_of_a_line(
    condition: str, *, failing: bool
) -> None:
    """
    A line in the middle of the text has a start and an end, for `until` and for `fail_on`.
    """

    async def story() -> None:
        with session() as one:
            given = {"fail_on": [condition]} if failing else {}
            waiting = await one.begin(*(["never"] if failing else [condition]), **given)

            one.says("first\r\nerror: zed\r\nlast\r\n")
            met = await waiting

            assert (met.condition, met.failing) == (condition, failing)

    run(story)


@pytest.mark.parametrize("condition", ["regex:^y", "regex:y$"])
@pytest.mark.parametrize("size", [WHOLE + OVERLAP, 2 * STEP])
def test_trial_11_a_long_line_has_one_start_and_one_end(condition: str, size: int) -> None:
    """
    A line is searched in pieces if it is long; their borders are not the borders of a line.
    """

    async def story() -> None:
        with session() as one:
            one.says("x" + "y" * size + "x\r\n" + "off the screen\r\n" * 24)
            waiting = await one.begin("end", fail_on=[condition])

            one.says("the end\r\n")
            met = await waiting

            assert met.condition == "end"

    run(story)


def test_trial_11_a_long_line_that_grows_has_one_start() -> None:
    """
    While it grows only its end is searched, which is not its start.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin("end", fail_on=["regex:^y"])

            for piece in ["x", *["y" * WHOLE] * 6, "\r\nthe end\r\n"]:
                one.says(piece)
            met = await waiting

            assert met.condition == "end"

    run(story)


def test_trial_11_new_text_within_a_line_does_not_start_it() -> None:
    """
    A line that began before the input has its start there.
    """

    async def story() -> None:
        with session() as one:
            one.says("Name: ")
            await one.types("x", echo=False)
            waiting = await one.begin("regex:^error", "end")

            one.says("error\r\nend")
            met = await waiting

            assert met.condition == "end"

    run(story)


def test_text_may_come_in_pieces() -> None:
    """
    A text is found when its last piece has come, also on a line that has not ended.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin("regex:a\nb")
            answered = []
            for piece in ["a", "\r\n", "b"]:
                one.says(piece)
                await next_turn()
                answered.append(waiting.done())

            assert answered == [False, False, True]

    run(story)


def test_text_between_the_input_and_the_wait_counts() -> None:
    """
    A program may answer before anybody waits, and its answer may have left the screen.
    """

    async def story() -> None:
        with session(rows=5) as one:
            await one.types("make")
            one.says("done\r\n" + "line\r\n" * 10)

            met = await one.wait("done")

            assert met.found == "done"

    run(story)


def test_text_before_the_input_does_not_count() -> None:
    """
    What was there before the last input is no answer to it.
    """

    async def story() -> None:
        with session() as one:
            one.says("done\r\n")
            await one.types("make")

            waiting = await one.begin("done")
            early = waiting.done()
            one.says("done\r\n")
            await waiting

            assert not early

    run(story)


def test_the_echo_of_the_input_does_not_count() -> None:
    """
    What the terminal shows of the typed line is no answer, the same text again is one.
    """

    async def story() -> None:
        with session() as one:
            await one.types("hello")

            waiting = await one.begin("hello")
            after_echo = waiting.done()
            one.says("hello\r\n")
            met = await waiting

            assert not after_echo
            assert met.found == "hello"

    run(story)


def test_an_input_during_a_wait_moves_its_beginning() -> None:
    """
    A wait that runs when something is typed ignores the echo of that, too.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin("hello", "old")
            await one.types("say hello")
            await next_turn()
            after_echo = waiting.done()

            one.says("hello\r\n")
            met = await waiting

            assert not after_echo
            assert met.condition == "hello"
            assert one.waits.last_input.typed == ["say hello"]

    run(story)


def test_a_wait_may_begin_at_another_point() -> None:
    """
    A wait with a point in the past finds what came after that point.
    """

    async def story() -> None:
        with session() as one:
            point = point_now(one.one.output, typed=(), entered=False)
            one.says("first\r\n")
            await one.types("make")

            met = await one.wait("first", point=point)

            assert met.found == "first"

    run(story)


@pytest.mark.parametrize("condition", ["", "regex:", "regex:(", "idle:soon", "cell:nobody"])
def test_a_condition_that_is_wrong_is_refused(condition: str) -> None:
    """
    A wrong condition raises at once, and no wait is left.
    """

    async def story() -> None:
        with session() as one:
            with pytest.raises((BadRequest, UnknownCell)):
                await one.wait("fine", condition)

            assert not one.waits._waiters

    run(story)


# -- several conditions, several callers


def test_any_of_several_conditions_is_enough() -> None:
    """
    The answer names the condition that came true.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin("yes", "no")

            one.says("no\r\n")
            met = await waiting

            assert (met.condition, met.failing) == ("no", False)

    run(story)


@pytest.mark.parametrize("text", ["error: x\r\n", "done with error: x\r\n"])
def test_a_failing_condition_comes_first(text: str) -> None:
    """
    If what fails and what is waited for come together, the wait has failed.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin("done", fail_on=["regex:error: .*"])

            one.says(text)
            met = await waiting

            assert met == Met(condition="regex:error: .*", failing=True, found="error: x")

    run(story)


def test_several_callers_wait_for_different_things() -> None:
    """
    One batch answers every caller whose condition it meets, and no other.
    """

    async def story() -> None:
        with session() as one:
            first, second, third = [await one.begin(text) for text in ("one", "two", "three")]

            one.says("one and two\r\n")
            met = [await first, await second]
            left = (third.done(), len(one.waits._waiters))
            one.says("three\r\n")
            await third

            assert [each.found for each in met] == ["one", "two"]
            assert left == (False, 1)

    run(story)


def test_each_caller_has_its_own_beginning() -> None:
    """
    Of two callers that wait at the same time, each sees the text since its own point.
    """

    async def story() -> None:
        with session() as one:
            earlier = point_now(one.one.output, typed=(), entered=False)
            one.says("old\r\n")
            await one.types("x", enter=False, echo=False)
            both = await one.begin("regex:old\nnew", point=earlier)
            late = await one.begin("old")

            one.says("new\r\n")
            await both
            await next_turn()

            assert not late.done()

    run(story)


def test_a_caller_that_leaves_leaves_nothing() -> None:
    """
    A wait that is cancelled is forgotten with its timer, and the others go on.
    """

    async def story() -> None:
        with session() as one:
            leaving = await one.begin("never", "idle:60m")
            staying = await one.begin("done")
            (timer,) = [each.timer for each in one.waits._waiters if each.timer is not None]

            leaving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaving
            one.says("done\r\n")
            await staying

            assert timer.cancelled()
            assert not one.waits._waiters

    run(story)


# -- prompts


def test_a_prompt_that_comes_after_the_input_meets_a_wait() -> None:
    """
    A line that looks like a prompt and stays unfinished is a prompt.
    """

    async def story() -> None:
        with session() as one:
            await one.types("make")
            waiting = await one.begin("prompt")

            one.says("built\r\nbash-5.2$ ")
            met = await waiting

            assert met == Met(condition="prompt", failing=False, found="prompt", guess=True)

    run(story)


def test_a_prompt_is_there_only_when_nothing_follows_for_a_moment() -> None:
    """
    A prompt that is followed by other output at once is none.
    """

    async def story() -> None:
        with session() as one:
            await one.types("make")
            waiting = await one.begin("prompt", "idle:100ms")

            one.says("bash-5.2$ ")
            one.says("ls\r\nfile\r\n")
            met = await waiting

            assert met.condition == "idle:100ms"

    run(story)


@pytest.mark.parametrize("before", ["bash-5.2$ ", "text\r\n"])
def test_the_prompt_at_which_a_line_was_entered_is_no_answer(before: str) -> None:
    """
    Until the program has ended a line after Enter, what looks like a prompt is the old one.
    """

    async def story() -> None:
        with session() as one:
            one.says(before)
            await one.types("", enter=True, echo=False)

            met = await one.wait("prompt", "idle:100ms")

            assert met.condition == "idle:100ms"

    run(story)


def test_without_an_input_the_prompt_that_is_there_counts() -> None:
    """
    A wait for the first prompt is met by a prompt that has stood there for some time.
    """

    async def story() -> None:
        with session() as one:
            one.says("bash-5.2$ ")

            met = await one.wait("prompt", since=time.monotonic() - 10)

            assert met.condition == "prompt"

    run(story)


@pytest.mark.parametrize(
    ("text", "idle", "condition"),
    [
        (f"\r\nstrange prompt {PROMPT_MARK}", "idle:60m", "prompt"),
        (f"\r\nbash-5.2$ {COMMAND_MARK}", "idle:100ms", "idle:100ms"),
    ],
)
def test_marks_count_more_than_looks(text: str, idle: str, condition: str) -> None:
    """
    After a mark that came since the input, its kind decides whether there is a prompt.
    """

    async def story() -> None:
        with session() as one:
            await one.types("make")
            waiting = await one.begin("prompt", idle)

            one.says(text)
            met = await waiting

            assert met.condition == condition

    run(story)


def test_a_mark_from_before_the_input_does_not_count() -> None:
    """
    The mark of the prompt at which something was typed says nothing about a later prompt.
    """

    async def story() -> None:
        with session() as one:
            one.says(f"$ {COMMAND_MARK}")
            await one.types("ssh host")
            waiting = await one.begin("prompt", "idle:60m")

            one.says("welcome\r\nuser@host:~$ ")
            met = await waiting

            assert met.condition == "prompt"

    run(story)


def test_a_full_screen_program_shows_no_prompt() -> None:
    """
    On the alternate screen, no line is a prompt.
    """

    async def story() -> None:
        with session() as one:
            one.says("bash-5.2$ ")
            waiting = await one.begin("prompt", "idle:100ms")

            one.says(ALTERNATE)
            met = await waiting

            assert met.condition == "idle:100ms"

    run(story)


# -- silence


def test_silence_that_lasts_long_enough_meets_a_wait() -> None:
    """
    The silence before the wait counts: it began with the last output or input.
    """

    async def story() -> None:
        with session() as one:
            met = await one.wait("idle:10s", since=time.monotonic() - 11)

            assert met == Met(condition="idle:10s", failing=False, found="idle")

    run(story)


def test_output_begins_the_silence_again() -> None:
    """
    After output the whole time must pass once more before the wait is met.
    """

    async def story() -> None:
        with session() as one:
            await one.begin("idle:60m")
            (waiter,) = one.waits._waiters

            before = time.monotonic()
            one.says("x")

            assert waiter.timer is not None
            assert waiter.timer.when() >= before + 3600

    run(story)


# -- cells


def test_a_wait_for_a_cell_asks_again_at_each_event_of_a_cell() -> None:
    """
    The wait is met by the outcome of the cell, and not while the cell runs.
    """

    async def story() -> None:
        with session() as one:
            one.outcomes["abc"] = None
            waiting = await one.begin("cell:abc")
            one.cell_changed()
            await next_turn()
            early = waiting.done()

            one.outcomes["abc"] = "waiting"
            one.cell_changed()
            met = await waiting

            assert not early
            assert met == Met(condition="cell:abc", failing=False, found="waiting")

    run(story)


def test_a_cell_that_ended_before_the_wait_meets_it() -> None:
    """
    Waiting for a cell that has ended returns at once.
    """

    async def story() -> None:
        with session() as one:
            one.outcomes["abc"] = "done"

            met = await one.wait("cell:abc")

            assert met.found == "done"

    run(story)


# -- the end of the program


def test_the_end_of_the_program_meets_a_wait_for_it() -> None:
    """
    A wait for the exit is met when the program ends.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin("never", "exit")

            one.one.terminal.end(Ending(code=0))
            met = await waiting

            assert met == Met(condition="exit", failing=False, found="exit")

    run(story)


@pytest.mark.parametrize(
    "end",
    [events.Exited(cursor=0, exit_code=0, signal=None), events.Lost(cursor=0, diagnosis="x")],
    ids=["exited", "lost"],
)
def test_any_other_wait_fails_when_the_program_ends(end: events.Event) -> None:
    """
    Nothing can come true any more, so every caller gets an error.
    """

    async def story() -> None:
        with session() as one:
            waiting = [await one.begin("never"), await one.begin("prompt", "idle:60m")]

            one.one.log.publish(end)

            for each in waiting:
                with pytest.raises(ProgramEnded):
                    await each
            assert not one.waits._waiters

    run(story)


@pytest.mark.parametrize(("condition", "found"), [("done", "done"), ("exit", "exit")])
def test_a_wait_after_the_end_is_answered_at_once(condition: str, found: str) -> None:
    """
    A program that has ended meets a wait for its exit and for what it wrote.
    """

    async def story() -> None:
        with session() as one:
            one.says("done\r\n")

            met = await one.wait(condition, ended=True)

            assert met.found == found

    run(story)


def test_a_wait_after_the_end_that_cannot_come_true_fails_at_once() -> None:
    """
    Nobody waits for the output of a program that has ended.
    """

    async def story() -> None:
        with session() as one:
            with pytest.raises(ProgramEnded):
                await one.wait("never", ended=True)

            assert not one.waits._waiters

    run(story)


# -- much text


@pytest.mark.parametrize("size", [0, WHOLE + 1, STEP + 1, 3 * STEP])
def test_text_is_found_after_any_amount_of_other_text(size: int) -> None:
    """
    What comes during a wait is found, however much came before it since the input.
    """

    async def story() -> None:
        with session() as one:
            await one.types("make")
            waiting = await one.begin(r"regex:code \d+")

            one.says(lines_of(size))
            one.says("code 73\r\n")
            met = await waiting

            assert met.found == "code 73"

    run(story)


@pytest.mark.parametrize("before", [0, WHOLE, STEP - 8, STEP + 1, 2 * STEP - 8, 2 * STEP])
def test_text_is_found_wherever_it_stands_in_what_came_before(before: int) -> None:
    """
    A wait that begins late searches everything since the input, in steps.
    """

    async def story() -> None:
        with session() as one:
            await one.types("make")
            one.says(lines_of(before) + "code 73\r\n" + lines_of(2 * STEP))

            met = await one.wait(r"regex:code \d+")

            assert met.found == "code 73"

    run(story)


def test_a_late_wait_lets_others_have_their_turn() -> None:
    """
    Between two steps of a long search, other tasks go on.
    """

    async def story() -> None:
        with session() as one:
            one.says(lines_of(3 * STEP) + "code 73\r\n")

            searching = await one.begin("code 73")
            after_one_turn = searching.done()
            met = await searching

            assert not after_one_turn
            assert met.found == "code 73"

    run(story)


def test_a_pattern_over_two_lines_is_found_in_much_text() -> None:
    """
    The end of what was searched before is searched again with what is new.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin(r"regex:first\nsecond")

            one.says(lines_of(2 * WHOLE) + "first\r\n")
            one.says("second\r\n")
            met = await waiting

            assert met.found == "first\nsecond"

    run(story)


def test_little_text_is_searched_from_the_input() -> None:
    """
    Up to 64 KiB since the input, the whole of it is searched each time.
    """
    with session() as one:
        one.says(lines_of(1000))
        point = point_now(one.one.output, typed=(), entered=False)
        one.says(lines_of(1000))
        seen = one.one.output.log.committed

        assert window(one.one.output, point, seen) == point.place


def test_much_text_is_searched_from_a_line_shortly_before_what_is_new() -> None:
    """
    Beyond 64 KiB the search begins with a whole line, at most 16 KiB before what is new.
    """
    with session() as one:
        output, line = one.one.output, len(LINE)
        one.says(lines_of(2 * WHOLE))
        seen = output.log.committed

        start = window(output, InputPoint(place=0), seen)

        assert seen - OVERLAP < start <= seen - OVERLAP + line
        assert start % line == 0


def test_a_search_never_begins_before_the_input() -> None:
    """
    What was written before the input is not searched, also when much came after it.
    """
    with session() as one:
        one.says(lines_of(OVERLAP))
        point = point_now(one.one.output, typed=(), entered=False)
        one.says(lines_of(2 * WHOLE))

        start = window(one.one.output, point, point.place)

        assert start >= point.place


def test_a_long_line_without_an_end_is_searched() -> None:
    """
    Where no line ends, the search begins in the middle of one.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin("needle")

            one.says("y" * (2 * WHOLE))
            one.says("needle")
            met = await waiting

            assert met.found == "needle"

    run(story)


# -- the screen


def test_a_screen_condition_is_met_by_what_is_drawn() -> None:
    """
    A pattern for the screen finds what was drawn at any place, in any order.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin(r"screen:hel+o \w+")

            one.says("\x1b[5;7Hworld\x1b[5;1Hhello ")
            met = await waiting

            assert met == Met(condition=r"screen:hel+o \w+", failing=False, found="hello world")

    run(story)


def test_a_screen_condition_is_not_met_by_text_that_has_scrolled_away() -> None:
    """
    Text that is no longer on the screen meets a wait for text and not one for the screen.
    """

    async def story() -> None:
        with session(rows=5) as one:
            on_screen = await one.begin("screen:needle", "screen:last")
            in_text = await one.begin("needle")

            one.says("needle\r\n" + "line\r\n" * 10 + "last")
            shown, written = await on_screen, await in_text

            assert shown.condition == "screen:last"
            assert written.found == "needle"

    run(story)


def test_what_is_on_the_screen_already_meets_a_wait() -> None:
    """
    A screen that was drawn between the input and the wait counts.
    """

    async def story() -> None:
        with session() as one:
            await one.types("htop", echo=False)
            one.says(f"{ALTERNATE}\x1b[2;2HTasks: 9")

            met = await one.wait(r"screen:Tasks: \d+")

            assert met.found == "Tasks: 9"

    run(story)


def test_what_was_on_the_screen_before_the_input_does_not_count() -> None:
    """
    Lines that the screen showed at the input are no answer to it; a new one is.
    """

    async def story() -> None:
        with session() as one:
            one.says(f"{ALTERNATE}\x1b[2;2HTasks: 9")
            await one.types("r", enter=False, echo=False)
            waiting = await one.begin("screen:Tasks")
            early = waiting.done()

            one.says("\x1b[3;2HTasks: 8")
            await waiting

            assert not early

    run(story)


def test_the_echo_on_the_screen_does_not_count() -> None:
    """
    What the screen shows of the typed line is no answer.
    """

    async def story() -> None:
        with session() as one:
            await one.types("hello")
            waiting = await one.begin("screen:hello")
            early = waiting.done()

            one.says("hello, you\r\n")
            await waiting

            assert not early

    run(story)


@pytest.mark.parametrize(
    "drawn",
    ["\x1b[5;4Hlo\x1b[5;1Hhel", f"{ALTERNATE}\x1b[5;1Hhello"],
    ids=["with the cursor", "on the alternate screen"],
)
def test_a_wait_for_text_sees_what_only_the_screen_has(drawn: str) -> None:
    """
    Text that a program draws in pieces is found on the screen by any wait for text.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin("hello")

            one.says(drawn)
            met = await waiting

            assert met.found == "hello"

    run(story)


def test_a_wait_for_text_sees_what_is_written_on_the_alternate_screen() -> None:
    """
    Text on the alternate screen is found, also where the cursor does not move.
    """

    async def story() -> None:
        with session() as one:
            one.says(ALTERNATE)
            waiting = await one.begin("hello")

            one.says("hello")
            met = await waiting

            assert met.found == "hello"

    run(story)


def test_plain_output_is_not_searched_on_the_screen() -> None:
    """
    Where nothing was drawn, the text says everything: a wrapped line does not become two words.
    """

    async def story() -> None:
        with session(cols=10) as one:
            waiting = await one.begin("regex:abcde\nfghij")

            one.says("12345abcdefghij\r\n")
            await next_turn()

            assert one.waits._search is None
            assert not waiting.done()

    run(story)


def test_what_was_drawn_before_an_input_is_searched_before_it() -> None:
    """
    An input does not hide what was drawn just before it and was not searched yet.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin("screen:ready")
            one.says(f"{ALTERNATE}ready")

            await one.types("q", enter=False, echo=False)
            met = await waiting

            assert met.found == "ready"

    run(story)


def test_what_was_drawn_last_is_searched_before_the_end() -> None:
    """
    A program that draws and ends at once has met the wait by what it drew.
    """

    async def story() -> None:
        with session() as one:
            waiting = await one.begin("screen:bye")
            one.says(f"{ALTERNATE}bye")

            one.one.terminal.end(Ending(code=0))
            met = await waiting

            assert met.found == "bye"

    run(story)


# -- what a wait sees


def test_a_view_can_end_before_now() -> None:
    """
    A view with an end shows neither what follows nor the unfinished line.
    """
    with session() as one:
        one.says("first\r\nsecond\r\nthird")
        output, point = one.one.output, InputPoint(place=0)

        part = TextView(output, point, start=0, end=len("first\n"))
        whole = TextView(output, point, start=0)

        assert part.text == "first\n"
        assert whole.text == "first\nsecond\nthird"


def test_a_view_begins_where_the_input_was_given() -> None:
    """
    What stood before the input on the unfinished line is not in the text of the view.
    """
    with session() as one:
        one.says("old\r\nName: ")
        output = one.one.output
        point = point_now(output, typed=(), entered=False)
        one.says("now")

        unfinished = TextView(output, point, start=point.place).text
        one.says(" and later\r\nnext")
        finished = TextView(output, point, start=point.place).text

        assert unfinished == "now"
        assert finished == "now and later\nnext"


def test_an_echo_is_removed_only_where_it_can_be() -> None:
    """
    A view that begins after the input shows its text as it is.
    """
    with session() as one:
        one.says("make\r\nmake\r\n")
        output, point = one.one.output, InputPoint(place=0, typed=["make"])

        at_input = TextView(output, point, start=0)
        later = TextView(output, point, start=len("make\n"))

        assert at_input.text == "\nmake\n"
        assert later.text == "make\n"


def test_the_point_of_an_input_lies_in_the_unfinished_line() -> None:
    """
    The point knows what was typed, what the screen showed and how many marks there were.
    """
    with session(rows=2) as one:
        one.says(f"text\r\n$ {PROMPT_MARK}")

        point = point_now(one.one.output, typed=["make"], entered=True)

        assert point == InputPoint(
            place=len("text\n$ "),
            typed=["make"],
            entered=True,
            marks_seen=1,
            screen=["text", "$"],
        )


def test_a_recovered_session_waits_from_its_last_input() -> None:
    """
    The place of the last input survives a host, so a new one does not search older text.
    """

    async def story() -> None:
        with session() as one:
            one.says("old\r\n")
            await one.types("make", echo=False)
            one.says("new\r\n")

            other = Waits(one.one.output, lambda _cell: None)

            assert other.last_input.place == len("old\n")

    run(story)
