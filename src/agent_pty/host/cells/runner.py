"""Runs the cells of one session: one at a time, taken before anything is typed.

What a cell goes through is in `cell.py`; this file connects it to the terminal. Marks and
observations of the foreground go in, transitions and `cell` events come out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec

from agent_pty.core.certainty import question_after
from agent_pty.core.mark import PlacedMark
from agent_pty.core.quit_keys import how_to_quit
from agent_pty.core.tty_state import Verdict
from agent_pty.errors import CellActive, InterruptFailed, NotReady, SessionEnded
from agent_pty.host import events
from agent_pty.host.cells.background import Background
from agent_pty.host.cells.capture import EXITED, Capture
from agent_pty.host.cells.cell import Cell, CellStart, Phase, Result, WaitingFor, Watch
from agent_pty.host.cells.cell_start import cell_start
from agent_pty.host.cells.completion import (
    INCOMPLETE,
    Completion,
    completion_of,
    is_ladder,
    prompt_before,
)
from agent_pty.host.cells.foreground import Foreground
from agent_pty.host.cells.interrupt import CTRL_C, Interrupter, give_up_line
from agent_pty.host.cells.line_check import LineCheck
from agent_pty.host.cells.poller import Poller
from agent_pty.host.cells.program_now import with_program_now
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.cells.results import Results, ended_signal, event_of
from agent_pty.host.cells.steadiness import Steadiness
from agent_pty.host.cells.submit import Submitter
from agent_pty.host.principal import SYSTEM
from agent_pty.host.terminal.input import Input
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.ops.cell_model import Status
from agent_pty.ops.model import Ending

_CONTINUATION = "..."
# So long it takes to see that a cell ended while output was lost.
_LOOK_SECONDS = 0.3


class CellRunner:
    """A listener that runs code; *frame* is how the end of a cell is known if nobody says."""

    def __init__(
        self,
        terminal: Terminal,
        given: Input,
        readiness: Readiness,
        results: Results,
        line: LineCheck,
        *,
        frame: str,
    ) -> None:
        self.results = results
        self._terminal = terminal
        self._input = given
        self._readiness = readiness
        self._line = line
        self._frame = frame
        self._submitter = Submitter(
            given, program=readiness.program, directory=terminal.output.directory
        )
        self._active: Cell | None = None
        self._capture: Capture | None = None
        self._completion: Completion | None = None
        self._poller = Poller(self._observe)
        self._interrupter = Interrupter(terminal, given, readiness, self._poller.soon)
        self._steadiness = Steadiness()
        self._waiting_for_prompt = 0
        self._gone: Ending | None = None
        self._background = Background()

    @property
    def active(self) -> Cell | None:
        """The cell that has the session."""
        return self._active

    def notice(self, event: events.Event | events.Signal) -> None:
        """React to output, to input of others and to the end of the program."""
        match event:
            case events.Batch(marks=marks):
                self.output(marks)
            case events.Input(entered=entered):
                self._typed_by_somebody(entered=entered)
            case events.OutputGap():
                self._readiness.miss_output()
                self._poll_soon()
            case events.ProgramGone(ending=ending):
                self._program_gone(ending)

    # -- beginning

    async def run(
        self, code: str, *, limit: float | None, patience: float, watch: Watch | None = None
    ) -> Cell:
        """Run code until it ends, waits for a person, takes longer than *limit* or is met."""
        cell = await self._begin(code, Cell.new(code, limit=limit, watch=watch), patience)
        try:
            await self.settle(cell, deadline=None if limit is None else cell.began + limit)
        finally:
            if watch is not None:
                watch.end()
        if cell.met and cell.result is None and cell.start is not None:
            # It runs on as one that was fired: the limit was that of its caller.
            self.results.begin(msgspec.structs.replace(cell.start, limit=None))
        return cell

    async def settle(self, cell: Cell, *, deadline: float | None) -> None:
        """Return when *cell* has ended, waits for a person, is met or has not by *deadline*."""
        try:
            async with asyncio.timeout_at(deadline):
                await cell.until(lambda: cell.settled)
        except TimeoutError:
            self._expire(cell)
        except asyncio.CancelledError:
            self._abandon(cell)
            raise
        cell.leave()

    async def fire(self, code: str, *, limit: float | None, patience: float) -> Cell:
        """Start code and return at once."""
        cell = await self._begin(code, Cell.new(code, limit=limit, fired=True), patience)
        if cell.result is None and cell.start is not None:
            self.results.begin(cell.start)
            self._limit(cell)
        return cell

    def resume(self) -> None:
        """Continue with the cell that ran when the host before us died."""
        cell = self.results.take_running()
        if cell is not None and cell.start is not None:
            self._active = cell
            self._follow(cell.start)
            self._limit(cell)
            self._poller.soon()

    def _limit(self, cell: Cell) -> None:
        if cell.limit is not None:
            left = cell.began + cell.limit - time.monotonic()
            asyncio.get_running_loop().call_later(max(0.0, left), self._expire_unanswered, cell)

    async def _begin(self, code: str, cell: Cell, patience: float) -> Cell:
        self._check_alive()
        if self._active is not None:
            raise CellActive(self._active.id, **self._active.occupation())
        self._active = cell
        try:
            await self.ready(patience)
            if cell.interrupting:  # nothing was typed, and nothing will be
                self._finish(cell, Result(cell_id=cell.id, status=Status.ERROR, frame=None))
                return cell
            await self._line.admit(code)
            await self._type(cell, code)
        except BaseException:
            if self._active is cell:
                self._let_go()
            raise
        self._poller.soon()
        return cell

    async def _type(self, cell: Cell, code: str) -> None:
        seen = self._readiness.observe_at_prompt()
        marked = self._readiness.ready == "marks" and is_ladder(self._frame)
        submission = self._submitter.prepare(code, marked=marked, frame=self._frame)
        start = cell_start(
            cell,
            submission,
            seen,
            output=self._terminal.output,
            frame=self._frame,
            readiness=self._readiness,
        )
        cell.begin(start, modes=self._terminal.modes())
        capture = self._follow(start)
        if cell.watch is not None:
            cell.watch.begin(cell, capture)
        self._steadiness.begin(seen.reader)
        self._readiness.entered()
        self._terminal.events.signal(events.CellBegan(cell_id=cell.id, code=code))
        self.publish(cell, "fired")
        await self._submitter.type(submission)
        cell.typed()

    def _follow(self, start: CellStart) -> Capture:
        self._capture = capture = Capture(start, self._terminal.output)
        self._completion = completion_of(capture, marks_exit=self._readiness.marks_exit)
        return capture

    async def ready(self, patience: float) -> None:
        """Return once a command can be typed; raise why it cannot."""
        self._waiting_for_prompt += 1
        try:
            async with asyncio.timeout(patience):
                while self._readiness.ready is None:
                    self._check_alive()
                    self._readiness.changed.clear()
                    self._poller.soon()
                    await self._readiness.changed.wait()
        except TimeoutError:
            raise NotReady(self._readiness.why_not()) from None
        finally:
            self._waiting_for_prompt -= 1
        self._check_alive()

    def _check_alive(self) -> None:
        if self._gone is not None:
            raise SessionEnded(
                "the session has ended: nothing can run in it",
                exit_code=self._gone.code,
                signal=self._gone.signal,
            )

    # -- what happens

    def output(self, marks: Sequence[PlacedMark]) -> None:
        """Take what the program wrote."""
        self._steadiness.reset()
        for placed in marks:
            self._readiness.mark(placed)
        cell, completion = self._active, self._completion
        if completion is not None and cell is not None and cell.start is not None:
            own = [placed for placed in marks if cell.start.owns(placed)]
            self._finish_if(completion.output(own))
        if cell is not None and cell.watch is not None:
            cell.watch.wrote()
        self._poll_soon()

    def _typed_by_somebody(self, *, entered: bool) -> None:
        """What was judged before is old, and after Enter there is no prompt."""
        if entered:
            self._readiness.entered()
        if self._active is not None and self._active.runs:
            self._active.resume()
            seen = self._readiness.observe()
            # In line mode a program gets nothing before Enter, so it need not do anything.
            self._steadiness.typed(seen.reader if entered or not seen.tty.line_mode else None)
            self._poller.soon()

    def _poll_soon(self) -> None:
        if self._active is not None or self._waiting_for_prompt:
            self._poller.soon()

    def _observe(self) -> None:
        """Observe the foreground, for callers that wait for a prompt and for the running cell."""
        seen = self._readiness.observe()
        start = self._active.start if self._active is not None else None
        verdict = self._readiness.judge(seen, start)
        same = self._steadiness.take(verdict)
        if self._waiting_for_prompt:
            self._readiness.observed(verdict, seen, same)
        if self._completion is not None and self._steadiness.stirred(seen.reader):
            result = self._completion.observed(verdict, seen, same)
            # A shell that asks for the rest of a command is at no prompt.
            if result is not None and start is not None and result.error != INCOMPLETE:
                self._readiness.ended(verdict, seen, prompt_before(start, seen))
            self._finish_if(result, seen)
        if self._completion is not None and self._steadiness.stirred(seen.reader):
            self._judge_waiting(verdict, seen, same)
        if self._active is not None or self._waiting_for_prompt:
            self._poller.again()

    def _judge_waiting(self, verdict: Verdict, seen: Foreground, same: int) -> None:
        cell = self._active
        if cell is None:
            return
        if verdict is Verdict.BUSY:
            cell.resume()
            return
        learned = cell.start.prompt if cell.start is not None else None
        if same < question_after(seen.tty, verdict, learned) or cell.phase is Phase.WAITING:
            return
        if seen.tty.line.rstrip() == _CONTINUATION and cell.nudge():
            # Python asks whether a block goes on: a person would press Enter, once.
            self._background.soon(self._input.press(b"\r", kind=InputKind.NUDGE, by=SYSTEM))
            return
        waiting_for: WaitingFor = "secret" if verdict is Verdict.SECRET else "input"
        cell.ask(waiting_for, how_to_quit(seen.name) if verdict is Verdict.SCREEN else None)
        self.publish(cell, "waiting", waiting_for=waiting_for)

    # -- ending

    def _finish_if(self, result: Result | None, seen: Foreground | None = None) -> None:
        cell = self._active
        if result is None or cell is None:
            return
        root = self._terminal.root.pid
        self._finish(cell, with_program_now(result, cell.start, seen, root=root))
        if result.error == INCOMPLETE:  # the shell still asks for the rest
            self._background.soon(give_up_line(self._input, self._readiness, self.ready))

    def _finish(self, cell: Cell, result: Result) -> None:
        self._let_go()
        if cell.interrupting:
            result = msgspec.structs.replace(result, status=Status.ERROR, error="interrupted")
        took = int((time.monotonic() - cell.began) * 1000)
        result = msgspec.structs.replace(
            result, code=cell.code, cwd=self._terminal.cwd(), duration_ms=took
        )
        cell.finish(result)
        self.results.add(cell, result)
        if cell.start is not None:
            self._terminal.events.signal(ended_signal(result, self._terminal.output.log))
        self.publish(cell, event_of(result))

    def _let_go(self) -> None:
        """Free the session for the next cell."""
        if self._completion is not None:
            self._completion.close()
        self._active, self._capture, self._completion = None, None, None
        if not self._waiting_for_prompt:
            self._poller.stop()

    def _expire(self, cell: Cell) -> None:
        if cell.expire():
            self.publish(cell, "timeout")

    def _expire_unanswered(self, cell: Cell) -> None:
        if not cell.answered:
            self._expire(cell)

    def _program_gone(self, ending: Ending) -> None:
        """What the program was doing ends with it."""
        self._gone = ending
        self._poller.stop()
        if self._active is not None and self._capture is not None:
            self._finish(self._active, self._capture.failed(EXITED, code=ending.status))
        self._readiness.changed.set()

    # -- stopping

    async def interrupt(self) -> Cell | None:
        """Stop the running cell, with more force each time; without one, press Ctrl-C."""
        cell = self._active
        if cell is not None:
            if self._readiness.marks_missed and await cell.ends_within(_LOOK_SECONDS):
                return cell  # it ended while output was lost
            cell.interrupt()
        if cell is None or cell.start is None:
            await self._input.press(CTRL_C, kind=InputKind.INTERRUPT)
            return None
        if await self._interrupter.stop(cell, self._finish_unmarked):
            return cell
        cell.survive()
        raise InterruptFailed(
            f"cell {cell.id} does not stop: end the session with kill", cell_id=cell.id
        )

    def _finish_unmarked(self, cell: Cell) -> None:
        """After Ctrl-C a shell is at its prompt, even one that no longer marks it."""
        seen = self._readiness.observe()
        if seen.tty.own and seen.tty.reading and self._capture is not None:
            self._readiness.forget_marks()
            self._readiness.accept()
            self._finish(cell, self._capture.failed("interrupted"))

    def _abandon(self, cell: Cell) -> None:
        """The caller left: stop the cell, so that the session is free again."""
        if cell.result is None:
            self._background.soon(self.interrupt())

    # -- reporting

    def capture_of(self, cell: Cell) -> Capture | None:
        """Return the output of the running cell."""
        return self._capture if cell is self._active else None

    def publish(self, cell: Cell, status: str, waiting_for: str | None = None) -> None:
        """Tell everybody what became of a cell."""
        code = cell.result.exit_code if cell.result is not None else None
        self.results.note(cell.id, status, exit_code=code)
        self._terminal.events.publish(
            events.CellChanged(
                cursor=self._terminal.output.cursor,
                cell_id=cell.id,
                status=status,
                waiting_for=waiting_for,
                exit_code=code,
            )
        )

    def close(self) -> None:
        """Stop observing."""
        self._poller.stop()
        if self._completion is not None:
            self._completion.close()
        self._background.close()
