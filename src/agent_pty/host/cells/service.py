"""What ops ask of a session's cells: run, fire, poll, peek, read their output, its history."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from agent_pty.core.budget import Ends, fitted
from agent_pty.core.history import Entry, told
from agent_pty.core.output_paused import paused_remark
from agent_pty.errors import UnknownCell
from agent_pty.host import principal
from agent_pty.host.cells.answer import Answerer
from agent_pty.host.cells.cell import Cell, Result
from agent_pty.host.cells.output_files import OutputFiles
from agent_pty.host.cells.output_range import OutputRange
from agent_pty.host.cells.runner import CellRunner
from agent_pty.host.cells.until import Until
from agent_pty.host.events import Notify
from agent_pty.host.terminal.pages import tail
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.ops.cell_model import CellFact, CellReport, OutputExcerpt, OutputPage, Status

_PAGE = 1024 * 1024
_NOTHING = OutputRange(start=0, end=0)
# Nothing to tell yet: it runs, if perhaps longer than it should.
_UNDECIDED = ("fired", Status.RUNNING, Status.TIMEOUT)
_HISTORY_BYTES = 1024 * 1024


class _Reference(msgspec.Struct, frozen=True, kw_only=True):
    result: Result
    spill: bool
    matched: str | None = None
    unmet: str | None = None
    since: int = 0


class CellService:
    """See `ops.context.Cells`."""

    def __init__(self, runner: CellRunner, terminal: Terminal, answerer: Answerer) -> None:
        self._runner = runner
        self._answerer = answerer
        self._terminal = terminal
        self._files = OutputFiles(f"{terminal.output.directory}/cells")

    async def ready(self, patience: float) -> None:
        """Return once a command can be typed."""
        await self._runner.ready(patience)

    async def run(
        self,
        code: str,
        *,
        limit: float | None,
        patience: float,
        spill: bool,
        until: Sequence[str] = (),
    ) -> CellReport:
        """Run code to its end, to what keeps it from one, or until a condition is true."""
        conditions = Until(until, self._terminal.output) if until else None
        cell = await self._runner.run(code, limit=limit, patience=patience, watch=conditions)
        report = await self._full(cell, spill=spill)
        if conditions is None:
            return report
        matched = conditions.met.condition if conditions.met else None
        unmet = None if conditions.met else conditions.given
        return msgspec.structs.replace(report, matched=matched, unmet=unmet)

    async def answer(self, text: str, *, limit: float | None, spill: bool) -> CellReport:
        """Answer the cell that waits; a result that the answer brought about is given with it."""
        answer = await self._answerer.answer(text, limit=limit)
        cell = answer.cell
        since = answer.reply(self._output(cell), self._terminal.output.log)
        if cell.result is not None:
            self._runner.results.collect(cell)
        return await self._full(cell, spill=spill, since=since)

    async def fire(self, code: str, *, limit: float | None, patience: float) -> CellReport:
        """Start code."""
        return self._report(await self._runner.fire(code, limit=limit, patience=patience))

    async def poll(self, cell_id: str | None, *, spill: bool) -> CellReport:
        """Tell how a cell is; a result is given once."""
        cell = self._asked(cell_id)
        if cell is None:
            raise UnknownCell("no active cell")
        report = await self._full(cell, spill=spill)
        if cell.result is not None:
            self._runner.results.collect(cell)
        elif report.status is Status.TIMEOUT:
            cell.report_timeout()
        return report

    async def peek(self, cell_id: str | None, *, spill: bool) -> CellReport:
        """Tell how a cell is and what it wrote so far, and leave everything as it is."""
        results = self._runner.results
        newest = self._runner.active or results.last or results.newest()
        cell = newest if cell_id is None else self._readable(cell_id)
        if cell is None:
            raise UnknownCell("no cell was run yet")
        return await self._full(cell, spill=spill)

    def _asked(self, cell_id: str | None) -> Cell | None:
        active, results = self._runner.active, self._runner.results
        if cell_id is None:
            return active or results.newest()
        if active is not None and active.id == cell_id:
            return active
        return results.find(cell_id)

    def reference(self, report: CellReport) -> str | None:
        """Return what `recall` needs to make this report again; None if it may still change."""
        cell = self._runner.results.recent(report.cell_id)
        if cell is None or cell.result is None or report.status is not cell.result.status:
            return None
        kept = _Reference(
            result=cell.result,
            spill=report.path is not None,
            matched=report.matched,
            unmet=report.unmet,
            since=0 if report.since is msgspec.UNSET else report.since,
        )
        return msgspec.json.encode(kept).decode()

    async def recall(self, reference: str) -> CellReport:
        """Make a report again; text that is no longer kept is reported as lost when it is read."""
        kept = msgspec.json.decode(reference, type=_Reference)
        cell = Cell.ended(kept.result)
        self._runner.results.remember(cell)
        report = await self._full(cell, spill=kept.spill, since=kept.since)
        return msgspec.structs.replace(report, matched=kept.matched, unmet=kept.unmet)

    def fact(self, cell_id: str) -> CellFact:
        """Return the last that is known of a cell, collected or not."""
        found, active = self._runner.results.fact(cell_id), self._runner.active
        if found is None:
            raise UnknownCell(f"unknown cell {cell_id}", cell_id=cell_id)
        if active is not None and active.id == cell_id:
            status, waits = active.status, active.waiting_for
            return msgspec.structs.replace(found, status=status, waiting_for=waits)
        return found

    def outcome(self, cell_id: str) -> str | None:
        """Return how a cell ended, or that it waits for a person; None while it runs."""
        status = self.fact(cell_id).status
        return None if status in _UNDECIDED else str(status)

    def page(self, cell_id: str, *, since: int, limit: int) -> OutputPage:
        """Return part of a cell's output."""
        output = self._output(self._readable(cell_id))
        return output.read(self._terminal.output.log, since, limit)

    async def excerpt(self, cell_id: str, *, since: int, room: int) -> OutputExcerpt:
        """Return the two ends of a cell's output, and the file that has all of it."""
        cell, terminal = self._readable(cell_id), self._terminal
        output, cursor = self._output(cell), self._cursor(cell)
        if cell.hint is not None:  # a full-screen program: its screen is what it says
            rest = f"all of it: agent-pty screen {terminal.name}"
            seen = fitted(terminal.output.emulator.text(), room, rest=rest)
            return OutputExcerpt(text=seen.text, left_out=seen.left_out, cursor=cursor)
        ends, lost = await self._ends(output, since, room)
        if (text := ends.text) is not None:
            return OutputExcerpt(text=text, cursor=cursor, lost=lost)
        path = await self._files.save(cell_id, output, terminal.output.log)
        rest = f"all of it: {path}" if path else f"all of it: agent-pty read {terminal.name}"
        seen = ends.cut(rest=len(rest)).fitted(rest)
        return OutputExcerpt(
            text=seen.text, left_out=seen.left_out, path=path, cursor=cursor, lost=lost
        )

    async def _ends(self, output: OutputRange, since: int, room: int) -> tuple[Ends, int]:
        ends, place, more, lost = Ends(room), since, True, 0
        while more:
            page = output.read(self._terminal.output.log, place, _PAGE)
            ends.feed(page.text)
            place, more, lost = page.next, page.more, lost + page.lost
            await asyncio.sleep(0)  # others get their turn
        return ends, lost

    def _readable(self, cell_id: str) -> Cell:
        active = self._runner.active
        running = active is not None and active.id == cell_id
        return active if running and active else self._runner.results.readable(cell_id)

    async def interrupt(self) -> CellReport | None:
        """Stop the running cell."""
        cell = await self._runner.interrupt()
        return self._report(cell) if cell is not None else None

    # -- history

    def note(self, message: str, who: str) -> None:
        """Put a note into the history and publish it."""
        self._runner.results.note("", "notify", message=message, who=who)
        terminal = self._terminal
        terminal.events.publish(
            Notify(
                cursor=terminal.output.cursor,
                by=principal.acting.get(),
                who=who,
                message=message,
            )
        )

    def history(self, lines: int) -> list[Entry]:
        """Return the last lines of the transcript, with what happened to cells between them."""
        output = self._terminal.output
        found = tail(output, lines=lines, limit=_HISTORY_BYTES)
        end = output.log.committed + len(output.transcript.pending)
        start = end - len(found.text.encode())
        events = [
            (
                one.place,
                Entry(
                    kind=one.fact.status,
                    text=one.message or one.fact.cell_id,
                    who=one.who,
                    exit_code=one.exit_code or UNSET,
                ),
            )
            for one in self._runner.results.events
        ]
        return told(found.text, start, events)[-lines:]

    # -- reports

    def _output(self, cell: Cell) -> OutputRange:
        if cell.result is not None:
            return cell.result.output
        capture = self._runner.capture_of(cell)
        return capture.so_far() if capture is not None else _NOTHING

    def _cursor(self, cell: Cell) -> int:
        """Return where a later excerpt goes on: an unfinished line comes again, as a whole."""
        output = self._output(cell)
        if cell.result is not None:
            return output.size
        # The end of the last line is no part of an output, but it has been read.
        written = output.end > output.start
        return self._terminal.output.log.committed - output.start if written else 0

    async def _full(self, cell: Cell, *, spill: bool, since: int = 0) -> CellReport:
        """Report a cell with its output after the first *since* bytes; its file has all of it."""
        report = self._report(cell, since=since)
        if not (spill and report.truncated and cell.result is not None):
            return report
        log = self._terminal.output.log
        path = await self._files.save(cell.id, cell.result.output, log)
        return msgspec.structs.replace(report, path=path)

    def _report(self, cell: Cell, *, since: int = 0) -> CellReport:
        log, result = self._terminal.output.log, cell.result
        output = self._output(cell).after(since)
        text, truncated = output.inline(log)
        if cell.hint is not None:  # a full-screen program: its screen is what it says
            text, truncated = self._terminal.output.emulator.text(), False
        took = int((time.monotonic() - cell.began) * 1000)
        return CellReport(
            cell_id=cell.id,
            status=cell.status,
            code=cell.code,
            output=text,
            exit_code=result.exit_code if result else None,
            exit_code_unknown=result is not None and result.exit_code_unknown,
            error=result.error if result else None,
            waiting_for=cell.waiting_for if cell.status is Status.WAITING else None,
            hint=cell.hint or self._paused(cell) or (result.hint if result else None),
            frame=result.frame if result else None,
            cwd=result.cwd if result else None,
            duration_ms=result.duration_ms if result else took,
            size=output.size,
            truncated=truncated,
            path=None,
            told=cell.timeouts_reported,
            lost=output.lost(log),
            since=since or msgspec.UNSET,
            now=result.now if result else None,
            cursor=self._cursor(cell),
        )

    def _paused(self, cell: Cell) -> str | None:
        """Say that output is paused, of a cell that has not ended: it may never end."""
        terminal = self._terminal
        held_back = cell.result is None and terminal.output_paused
        return paused_remark(terminal.name) if held_back else None
