"""What ops ask of a session's cells: run, fire, poll, peek, read their output, its history."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Callable

import msgspec

from agent_pty.core.history import Entry, told
from agent_pty.errors import UnknownCell
from agent_pty.host.cells.cell import Cell, Output
from agent_pty.host.cells.readiness import Front
from agent_pty.host.cells.results import Results
from agent_pty.host.cells.runner import Cells
from agent_pty.host.cells.submit import Typist
from agent_pty.host.terminal.pages import tail
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.ops.cell_model import CellFact, CellReport, OutputPage, Status
from agent_pty.store.atomic import write_all

_PAGE = 1024 * 1024
_NOTHING = Output(start=0, end=0)
# Nothing to tell yet: it runs, if perhaps longer than it should.
_UNDECIDED = ("fired", Status.RUNNING, Status.TIMEOUT)
_HISTORY_BYTES = 1024 * 1024
# Files with large outputs; the oldest goes first.
_MOST_SPILLS = 16


class Desk:
    """See `ops.context.Desk`. *directory* is the session's own."""

    def __init__(self, cells: Cells, terminal: Terminal, directory: str) -> None:
        self._cells = cells
        self._terminal = terminal
        self._directory = directory
        self._spills: deque[str] = deque()

    async def ready(self, patience: float) -> None:
        """Return once a command can be typed."""
        await self._cells.ready(patience)

    async def run(
        self, code: str, *, limit: float | None, patience: float, spill: bool
    ) -> CellReport:
        """Run code to its end, or to what keeps it from one."""
        cell = await self._cells.run(code, limit=limit, patience=patience)
        return await self._full(cell, spill=spill)

    async def fire(self, code: str, *, limit: float | None, patience: float) -> CellReport:
        """Start code."""
        return self._report(await self._cells.fire(code, limit=limit, patience=patience))

    async def poll(self, cell_id: str | None, *, spill: bool) -> CellReport:
        """Tell how a cell is; a result is given once."""
        cell = self._asked(cell_id)
        if cell is None:
            raise UnknownCell("no active cell")
        report = await self._full(cell, spill=spill)
        if cell.result is not None:
            self._cells.results.collect(cell)
        elif report.status is Status.TIMEOUT:
            cell.told += 1
        return report

    async def peek(self, cell_id: str | None, *, spill: bool) -> CellReport:
        """Tell how a cell is and what it wrote so far, and leave everything as it is."""
        cell = self._asked(cell_id) or self._cells.results.last
        if cell is None:
            raise UnknownCell("no cell was run yet")
        return await self._full(cell, spill=spill)

    def _asked(self, cell_id: str | None) -> Cell | None:
        active, results = self._cells.active, self._cells.results
        if cell_id is None:
            return active or results.newest()
        if active is not None and active.id == cell_id:
            return active
        return results.find(cell_id)

    def fact(self, cell_id: str) -> CellFact:
        """Return the last that is known of a cell, collected or not."""
        found, active = self._cells.results.fact(cell_id), self._cells.active
        if found is None:
            raise UnknownCell(f"unknown cell {cell_id}", cell_id=cell_id)
        if active is not None and active.id == cell_id:
            status, waits = active.status, active.waiting_for
            return msgspec.structs.replace(found, status=status, waiting_for=waits)
        return found

    def news(self, cell_id: str) -> str | None:
        """Return how a cell ended, or that it waits for a person; None while it runs."""
        status = self.fact(cell_id).status
        return None if status in _UNDECIDED else str(status)

    def page(self, cell_id: str, *, since: int, limit: int) -> OutputPage:
        """Return part of a cell's output."""
        active = self._cells.active
        running = active is not None and active.id == cell_id
        cell = active if running and active else self._cells.results.readable(cell_id)
        return self._output(cell).read(self._terminal.stream.log, since, limit)

    async def interrupt(self) -> CellReport | None:
        """Stop the running cell."""
        cell = await self._cells.interrupt()
        return self._report(cell) if cell is not None else None

    # -- history

    def note(self, message: str, who: str) -> None:
        """Put a person's word into the history and before whoever watches."""
        self._cells.results.note("", "notify", message=message, who=who)
        self._terminal.audience.emit("notify", {"from": who, "message": message})

    def history(self, lines: int) -> list[Entry]:
        """Return the last lines of the transcript, with what happened to cells between them."""
        stream = self._terminal.stream
        found = tail(stream, lines=lines, limit=_HISTORY_BYTES)
        end = stream.log.committed + len(stream.transcript.pending)
        start = end - len(found.text.encode())
        events = [
            (
                one.place,
                Entry(kind=one.fact.status, text=one.message or one.fact.cell_id, who=one.who),
            )
            for one in self._cells.results.events
        ]
        return told(found.text, start, events)[-lines:]

    # -- reports

    def _output(self, cell: Cell) -> Output:
        if cell.result is not None:
            return cell.result.output
        sheet = self._cells.sheet_of(cell)
        return sheet.so_far() if sheet is not None else _NOTHING

    async def _full(self, cell: Cell, *, spill: bool) -> CellReport:
        report = self._report(cell)
        if not (spill and report.truncated and cell.result is not None):
            return report
        return msgspec.structs.replace(
            report, path=await self._spilled(cell.id, cell.result.output)
        )

    def _report(self, cell: Cell) -> CellReport:
        log, output, result = self._terminal.stream.log, self._output(cell), cell.result
        text, truncated = output.inline(log)
        if cell.hint is not None:  # a full-screen program: its screen is what it says
            text, truncated = self._terminal.stream.emulator.text(), False
        took = int((time.monotonic() - cell.began) * 1000)
        return CellReport(
            cell_id=cell.id,
            status=cell.status,
            output=text,
            exit_code=result.exit_code if result else None,
            error=result.error if result else None,
            waiting_for=cell.waiting_for if cell.status is Status.WAITING else None,
            hint=cell.hint,
            frame=result.frame if result else None,
            cwd=result.cwd if result else None,
            duration_ms=result.duration_ms if result else took,
            size=output.size,
            truncated=truncated,
            path=None,
            told=cell.told,
        )

    async def _spilled(self, cell_id: str, output: Output) -> str | None:
        """Write a large output to a file that any tool can read."""
        os.makedirs(f"{self._directory}/cells", mode=0o700, exist_ok=True)
        path, place = f"{self._directory}/cells/{cell_id}.txt", 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(path, flags, 0o600)
        try:
            more = True
            while more:
                page = output.read(self._terminal.stream.log, place, _PAGE)
                write_all(file, page.text.encode())
                place, more = page.next, page.more
                await asyncio.sleep(0)  # others get their turn
        except OSError:  # a full disk: the output is still there, by pages
            return None
        finally:
            os.close(file)
        if path in self._spills:  # asked for again: it is the newest now
            self._spills.remove(path)
        self._spills.append(path)
        while len(self._spills) > _MOST_SPILLS:
            with contextlib.suppress(OSError):
                os.unlink(self._spills.popleft())
        return path


def desk_of(
    terminal: Terminal, front: Front, frame: str | None, stir: Callable[[], None]
) -> tuple[Desk, Cells]:
    """Set up the cells of a session; *stir* is called when something became of one."""
    directory = terminal.stream.directory
    typist = Typist(terminal.hands, program=front.program, directory=directory)
    results = Results(directory, terminal.stream)
    cells = Cells(terminal, front, typist, results, frame=frame or "ladder", stir=stir)
    return Desk(cells, terminal, directory), cells
