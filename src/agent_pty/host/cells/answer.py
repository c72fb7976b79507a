"""An answer to the cell that waits: who may be answered, and what the program writes to it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass

from agent_pty.core.cell_text import reply_start
from agent_pty.errors import NotWaiting
from agent_pty.host.cells.cell import Cell, Phase
from agent_pty.host.cells.output_range import OutputRange
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.cells.runner import CellRunner
from agent_pty.host.terminal.input import Input
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.store.textlog import TextLog

# As long as it takes to see that a program waits, even behind ssh (`core/certainty.py`).
_MOMENT = 3.0
# Bytes that are enough for one more character.
_ONE_MORE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was typed into *cell*, whose output had *before* bytes by then.

    *newline*: the Enter will be shown, or it ends the line on which the question stands.
    """

    cell: Cell
    text: str
    before: int
    newline: bool

    def reply(self, output: OutputRange, log: TextLog) -> int:
        """Return where the reply begins in the cell's output."""
        shown = output.after(self.before).read(log, 0, len(self.text.encode()) + _ONE_MORE)
        if shown.lost:
            return self.before
        return self.before + reply_start(shown.text.encode(), self.text, newline=self.newline)


class Answerer:
    """Types answers, one at a time."""

    def __init__(
        self, runner: CellRunner, terminal: Terminal, given: Input, readiness: Readiness
    ) -> None:
        self._runner = runner
        self._terminal = terminal
        self._input = given
        self._readiness = readiness
        self._typing = False

    async def answer(self, text: str, *, limit: float | None) -> Answer:
        """Type a line; return when the cell has ended, waits again or *limit* has passed."""
        deadline = None if limit is None else time.monotonic() + limit
        await self._look(_MOMENT if limit is None else min(_MOMENT, limit))
        cell = self._waiting_cell()
        capture, tty = self._runner.capture_of(cell), self._readiness.observe().tty
        answer = Answer(
            cell=cell,
            text=text,
            before=capture.length() if capture is not None else 0,
            newline=bool(tty.line) or tty.echo or not tty.line_mode,
        )
        await self._type(cell, text)
        await self._runner.settle(cell, deadline=deadline)
        return answer

    async def _type(self, cell: Cell, text: str) -> None:
        self._typing = True
        try:
            cell.answer()
            await self._input.type(text, enter=True)
        finally:
            self._typing = False

    async def _look(self, moment: float) -> None:
        """Give a cell that runs a moment: after something was typed, it is not judged at once."""
        cell = self._runner.active
        if cell is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(moment):
                    await cell.until(lambda: cell.settled)

    def _waiting_cell(self) -> Cell:
        """Return the cell that waits, or raise what is the case instead."""
        name, cell = self._terminal.name, self._runner.active
        if not self._terminal.running:
            raise self._terminal.ended_error("nothing in it can be answered")
        if cell is None:
            raise self._without_cell(name)
        if cell.phase is not Phase.WAITING or self._typing:
            raise NotWaiting(
                f"cell {cell.id} of session {name} runs, but waits for no answer: wait until it "
                "asks (wait --until cell:ID), or type all the same (send)",
                cell_id=cell.id,
            )
        if cell.waiting_for == "approval":
            raise NotWaiting(
                f"cell {cell.id} of session {name} waits for an approval, not for an answer: "
                f"{cell.hint}",
                cell_id=cell.id,
            )
        return cell

    def _without_cell(self, name: str) -> NotWaiting:
        seen = self._readiness.observe()
        if seen.tty.own or not seen.name:
            return NotWaiting(f"nothing runs in session {name} that could be answered: use run")
        return NotWaiting(
            f"no cell runs in session {name}, but {seen.name} has its keyboard: use run if it is "
            "at its prompt, else send",
            program=seen.name,
        )
