"""The cells of one session: one at a time, taken before anything is typed, kept until collected."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from agent_pty.core.prompt import looks_like_prompt
from agent_pty.core.quit_keys import how_to_leave
from agent_pty.core.tty_state import Verdict
from agent_pty.errors import AgentPtyError, CellActive, InterruptFailed, NotReady, SessionEnded
from agent_pty.host.cells.capture import Sheet
from agent_pty.host.cells.cell import Cell, Result
from agent_pty.host.cells.completion import INCOMPLETE, Frame, Ladder, frame_of
from agent_pty.host.cells.foreground import Look, Sitter
from agent_pty.host.cells.interrupt import CTRL_C, Stopper
from agent_pty.host.cells.poller import Probe
from agent_pty.host.cells.readiness import Front
from agent_pty.host.cells.results import Results, event_of
from agent_pty.host.cells.submit import Typist
from agent_pty.host.terminal import tty
from agent_pty.host.terminal.output import Marked
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.ops.cell_model import Status
from agent_pty.ops.model import Ending

# A question is one when it stood still for this many looks: programs draw, then read.
_SURE = 4
# Integrated programs say themselves when they are ready; if they do not by then, looks decide.
_MARKS_LATE = 1.0
# A prompt that stood still for this many looks, a second or two, will not be marked any more.
_LOST = 6
_LINE_SECONDS = 0.5
_LINE_TRIES = 4
_CONTINUATION = "..."


class Cells:
    """Runs code in the program of one terminal; *frame* is how ends are told if nobody says."""

    def __init__(
        self,
        terminal: Terminal,
        front: Front,
        typist: Typist,
        results: Results,
        *,
        frame: str,
        stir: Callable[[], None],
    ) -> None:
        self.results = results
        self.active: Cell | None = None
        self._terminal = terminal
        self._front = front
        self._typist = typist
        self._frame = frame
        self._stir = stir
        self._sheet: Sheet | None = None
        self._end: Frame | None = None
        self._probe = Probe(self._look)
        self._stopper = Stopper(terminal, front, self._probe.soon)
        self._born = time.monotonic()
        self._before: Sitter | None = None
        self._verdict: Verdict | None = None
        self._same = 0
        self._readers = 0
        self._gone: Ending | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._typing = False  # it is the code of a cell that is being typed

    # -- beginning

    async def run(self, code: str, *, limit: float | None, patience: float) -> Cell:
        """Run code; return when it ended, waits for a person or took longer than *limit*."""
        cell = await self._begin(code, fired=False, patience=patience)
        try:
            async with asyncio.timeout_at(None if limit is None else cell.began + limit):
                await cell.until(lambda: cell.settled)
        except TimeoutError:
            self._expire(cell)
        except asyncio.CancelledError:
            self._abandon(cell)
            raise
        cell.left = cell.result is None
        return cell

    async def fire(self, code: str, *, limit: float | None, patience: float) -> Cell:
        """Start code and return at once."""
        cell = await self._begin(code, fired=True, patience=patience)
        cell.limit = limit
        if cell.result is None:
            self.results.begin(cell)
            self._limit(cell)
        return cell

    def resume(self) -> None:
        """Go on with the cell that ran when the host before us died."""
        cell = self.results.take_running()
        if cell is not None:
            self.active, self._sheet = cell, Sheet(cell, self._terminal.stream)
            self._end = frame_of(self._sheet)
            self._limit(cell)
            self._probe.soon()

    def _limit(self, cell: Cell) -> None:
        if cell.limit is not None:
            left = cell.began + cell.limit - time.monotonic()
            asyncio.get_running_loop().call_later(max(0.0, left), self._expire, cell)

    async def _begin(self, code: str, *, fired: bool, patience: float) -> Cell:
        self._check_alive()
        if self.active is not None:
            raise CellActive(self.active.id)
        cell = self.active = Cell(id=secrets.token_hex(6), fired=fired, frame=self._frame)
        try:
            await self.ready(patience)
            if cell.interrupted:  # nothing was typed, and nothing will be
                self._finish(cell, Result(cell_id=cell.id, status=Status.ERROR, frame=None))
                return cell
            await self._type(cell, code)
        except BaseException:
            if self.active is cell:
                self._let_go()
            raise
        self._probe.soon()
        return cell

    async def _type(self, cell: Cell, code: str) -> None:
        stream = self._terminal.stream
        cell.modes = tty.modes(self._terminal.master)
        marked, look = self._front.ready == "marks", self._front.look_at_prompt()
        cell.prompt, cell.drawn = look.seat.line, look.drawn
        cell.number = self._front.number
        cell.line_mode = look.seat.line_mode
        cell.echoed = look.seat.echo or not look.seat.line_mode
        cell.began = time.monotonic()
        cell.typed = stream.log.committed + len(stream.transcript.pending)
        self._sheet = Sheet(cell, stream)
        self._end = frame_of(self._sheet)
        cell.reader = look.sitter.pid if look.sitter is not None else None
        self._before, self._verdict, self._same = look.sitter, None, 0
        self._front.typed()
        self._tell(cell, "fired")
        marked = marked and isinstance(self._end, Ladder)
        self._typing = True
        try:
            cell.lines = await self._typist.type(code, marked=marked, frame=cell.frame)
        finally:
            self._typing = False

    async def ready(self, patience: float) -> None:
        """Return once a command can be typed; raise why it cannot."""
        self._readers += 1
        try:
            async with asyncio.timeout(patience):
                while self._front.ready is None:
                    self._check_alive()
                    self._front.changed.clear()
                    self._probe.soon()
                    await self._front.changed.wait()
        except TimeoutError:
            raise NotReady(self._why_not()) from None
        finally:
            self._readers -= 1
        self._check_alive()

    def _check_alive(self) -> None:
        if self._gone is not None:
            raise SessionEnded(
                "the session has ended: nothing can run in it",
                exit_code=self._gone.code,
                signal=self._gone.signal,
            )

    def _why_not(self) -> str:
        look = self._front.look()
        does = "waits for input" if look.seat.reading else "is running"
        return f"not at a prompt: {look.name or 'the program'} {does}"

    # -- what happens

    def output(self, marks: Sequence[Marked]) -> None:
        """Take what the program wrote."""
        self._same = 0
        for marked in marks:
            self._front.mark(marked)
        if self._end is not None and self.active is not None:
            since = [one for one in marks if self.active.owns(one)]
            if since:
                self.active.incomplete = since[-1].mark.kind == "P"
            self._finish_if(self._end.output(since))
        if self.active is not None or self._readers:
            self._probe.soon()

    def touched(self, *, entered: bool) -> None:
        """Somebody typed: what was judged before is old, and after Enter there is no prompt."""
        if entered:
            self._front.typed()
        if self.active is not None and self.active.typed >= 0 and not self._typing:
            self.active.waiting_for = self.active.hint = None
            self._before, self._same = self._front.look().sitter, 0
            self._probe.soon()

    def _look(self) -> None:
        """Look at the terminal's state, for who waits for a prompt and for the running cell."""
        look = self._front.look()
        verdict = self._front.judge(look, self.active)
        self._same = self._same + 1 if verdict is self._verdict else 0
        self._verdict = verdict
        if self._readers:
            self._judge_readiness(verdict, look)
        if self._end is not None and self._stirred(look):
            self._finish_if(self._end.looked(verdict, look, self._same))
        if self._end is not None and self.active is not None and self._stirred(look):
            self._judge_waiting(self.active, verdict, look)
        if self.active is not None or self._readers:
            self._probe.again()

    def _judge_readiness(self, verdict: Verdict, look: Look) -> None:
        """Without marks, whoever reads can be typed into; with marks it says so itself."""
        if verdict not in (Verdict.INPUT, Verdict.SECRET) or self._same < _SURE:
            return
        if not self._front.marks:
            late = time.monotonic() - self._born > _MARKS_LATE
            if self._front.program is None or late:
                self._front.accept()
        elif self._same >= _LOST and look.seat.own and looks_like_prompt(look.seat.line):
            self._front.forget()  # somebody has set the prompt anew, without marks

    def _stirred(self, look: Look) -> bool:
        """Whether the reader has done anything since the code was typed; if not, it will."""
        now, then = look.sitter, self._before
        return now is None or then is None or (now.pid, now.naps) != (then.pid, then.naps)

    def _judge_waiting(self, cell: Cell, verdict: Verdict, look: Look) -> None:
        if verdict is Verdict.BUSY:
            cell.waiting_for = cell.hint = None
            return
        if self._same < _SURE or cell.waiting_for is not None:
            return
        if look.seat.line.rstrip() == _CONTINUATION and not cell.nudged:
            # Python asks whether a block goes on: a person would press Enter, once.
            cell.nudged = True
            self._soon(self._terminal.hands.press(b"\r"))
            return
        cell.waiting_for = "secret" if verdict is Verdict.SECRET else "input"
        cell.hint = how_to_leave(look.name) if verdict is Verdict.SCREEN else None
        self._tell(cell, "waiting", **{"for": cell.waiting_for})
        cell.turn.set()

    # -- ending

    def _finish_if(self, result: Result | None) -> None:
        cell = self.active
        if result is None or cell is None:
            return
        self._finish(cell, result)
        if result.error == INCOMPLETE:  # the shell still asks for the rest
            self._soon(self._give_up_line())

    async def _give_up_line(self) -> None:
        """Press Ctrl-C until there is a prompt: zsh loses one that comes before it reads."""
        for _ in range(_LINE_TRIES):
            await self._terminal.hands.press(CTRL_C)
            with contextlib.suppress(NotReady):
                await self.ready(_LINE_SECONDS)
                return

    def _finish(self, cell: Cell, result: Result) -> None:
        self._let_go()
        if cell.interrupted:
            result = msgspec.structs.replace(result, status=Status.ERROR, error="interrupted")
        took = int((time.monotonic() - cell.began) * 1000)
        result = msgspec.structs.replace(result, cwd=self._terminal.cwd(), duration_ms=took)
        cell.waiting_for = cell.hint = None
        self.results.add(cell, result)
        self._tell(cell, event_of(result))
        cell.turn.set()

    def _let_go(self) -> None:
        """The session is free for the next cell."""
        if self._end is not None:
            self._end.close()
        self.active, self._sheet, self._end = None, None, None
        if not self._readers:
            self._probe.stop()

    def _expire(self, cell: Cell) -> None:
        if cell.result is None and not cell.timed_out:
            cell.timed_out = True
            self._tell(cell, "timeout")
            cell.turn.set()

    def ended(self, ending: Ending) -> None:
        """The program is gone, and with it what it was doing."""
        self._gone = ending
        self._probe.stop()
        cell, sheet = self.active, self._sheet
        if cell is not None and sheet is not None:
            self._finish(cell, sheet.failed("exited", code=ending.status))
        self._front.changed.set()

    # -- stopping

    async def interrupt(self) -> Cell | None:
        """Stop the running cell, ever less politely; without one, press Ctrl-C."""
        cell = self.active
        if cell is not None:
            cell.interrupted = True
        if cell is None or cell.typed < 0:
            await self._terminal.hands.press(CTRL_C)
            return None
        if await self._stopper.stop(cell, self._finish_unmarked):
            return cell
        cell.interrupted = False
        raise InterruptFailed(
            f"cell {cell.id} does not stop: end the session with kill", cell_id=cell.id
        )

    def _finish_unmarked(self, cell: Cell) -> None:
        """After Ctrl-C a shell is at its prompt, also one that does not mark it any more."""
        look = self._front.look()
        if look.seat.own and look.seat.reading and self._sheet is not None:
            self._front.forget()
            self._front.accept()
            self._finish(cell, self._sheet.failed("interrupted"))

    def _abandon(self, cell: Cell) -> None:
        """Nobody waits for the cell any more: stop it, so that the session is free again."""
        if cell.result is None:
            self._soon(self.interrupt())

    def _soon(self, work: Awaitable[Any]) -> None:
        async def quietly() -> None:
            with contextlib.suppress(AgentPtyError):
                await work

        task = asyncio.get_running_loop().create_task(quietly())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- telling

    def sheet_of(self, cell: Cell) -> Sheet | None:
        """Return the text of the running cell."""
        return self._sheet if cell is self.active else None

    def _tell(self, cell: Cell, status: str, **facts: Any) -> None:
        self.results.note(cell.id, status)
        cursor = self._terminal.stream.cursor
        told = {"cell_id": cell.id, "status": status, "cursor": cursor, **facts}
        self._terminal.audience.emit("cell", told)
        self._stir()

    def close(self) -> None:
        """Stop looking."""
        self._probe.stop()
        if self._end is not None:
            self._end.close()
        for task in self._tasks:
            task.cancel()
