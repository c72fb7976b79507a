"""Conditions on one cell, such as text in its output: what `run --until` waits for.

Rule of this file: only what the cell wrote itself is searched, from its beginning on. The echo of
its code, what stood there before and the prompt after its end are not its output.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from agent_pty.core.condition import (
    AnyOf,
    Ended,
    Event,
    Met,
    Output,
    ScreenDrawn,
    Start,
    Tick,
    machine,
)
from agent_pty.core.echo import fresh_lines, without_echo
from agent_pty.core.pattern import compiled
from agent_pty.core.prompt import looks_like_prompt
from agent_pty.errors import BadRequest
from agent_pty.host.cells.capture import EXITED, Capture
from agent_pty.host.cells.cell import Cell
from agent_pty.host.cells.output_range import OutputRange
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.waits.view import OVERLAP, WHOLE
from agent_pty.ops.cell_model import Status

# After something was drawn, search the screen once for a whole burst, not once per batch.
_SEARCH_AFTER = 0.005
# A shell that marks where output begins does so as soon as it has read the line.
_MARK_SECONDS = 1.0
_UNKNOWN = "\ufffd"


class CellView:
    """What a cell has written, from byte *begin* of it on; see `core.condition.View`."""

    after = ""

    def __init__(
        self, output: TerminalOutput, written: OutputRange, *, begin: int, fresh: Fresh
    ) -> None:
        self._output = output
        self._fresh = fresh
        text = written.read(output.log, begin, max(0, written.size - begin)).text
        # Whole lines: half of one could be mistaken for something else.
        cut = text.find("\n") + 1 if begin else 0
        self.text = text[cut:]
        self.before = _UNKNOWN if begin and not cut else ""
        self.at_prompt = looks_like_prompt(written.tail.decode(errors="replace"))

    @property
    def screen(self) -> str:
        """Lines of the screen that were not there before the code was typed, without its echo."""
        return self._fresh.lines(self._output)


class Fresh:
    """Tells what is new on the screen since the code *typed* was about to be typed."""

    def __init__(self, output: TerminalOutput, typed: Sequence[str]) -> None:
        self._typed = typed
        self._before = output.emulator.text().split("\n")
        self._drawn = output.transcript.drawn

    def lines(self, output: TerminalOutput) -> str:
        """Return the new lines, without the echo."""
        now = output.emulator.text().split("\n")
        return without_echo("\n".join(fresh_lines(self._before, now)), self._typed)

    def drawn(self, output: TerminalOutput) -> bool:
        """Whether something was drawn that the text does not show."""
        return output.transcript.alternate or output.transcript.drawn != self._drawn


class Until:
    """Fed with what happens to one cell; *met* is the condition that came true first."""

    def __init__(self, conditions: Sequence[str], output: TerminalOutput) -> None:
        self.met: Met | None = None
        self._given = conditions
        self._output = output
        self._screen_only = any(text.startswith("screen:") for text in conditions)
        # A wrong condition is refused now, before anything is typed.
        self._conditions = _any_of(conditions, since=time.monotonic())
        self._cell: Cell | None = None
        self._seen = 0
        self._timer: asyncio.TimerHandle | None = None
        self._search: asyncio.TimerHandle | None = None
        self._mark: asyncio.TimerHandle | None = None
        self._late = False

    @property
    def given(self) -> str:
        """The conditions as a message shows them."""
        return " or ".join(self._given)

    def begin(self, cell: Cell, capture: Capture) -> None:
        """The code of *cell* is about to be typed."""
        self._cell, self._capture = cell, capture
        self._fresh = Fresh(self._output, capture.cell.lines)
        self._conditions = _any_of(self._given, since=time.monotonic())
        self._arm()

    def wrote(self) -> None:
        """Something was written while the cell runs."""
        if self._cell is None or self.met is not None:
            return
        if not self._capture.begun and not self._late:
            self._expect_mark()
            return
        self._feed(Output(at=time.monotonic(), view=self._view()))
        drawn = self._screen_only or self._fresh.drawn(self._output)
        if drawn and self._search is None and self.met is None:
            loop = asyncio.get_running_loop()
            self._search = loop.call_later(_SEARCH_AFTER, self._search_screen)
        self._arm()

    def _expect_mark(self) -> None:
        """Until a mark says where output begins, a line that was drawn twice looks like it."""
        if self._mark is None:
            loop = asyncio.get_running_loop()
            self._mark = loop.call_later(_MARK_SECONDS, self._do_without_mark)

    def _do_without_mark(self) -> None:
        """The shell has lost its marks: go by the echo."""
        self._late = True
        self.wrote()

    def end(self) -> None:
        """Nobody waits any longer: test a last time what the cell has written."""
        cell = self._cell
        if cell is not None:
            self._test_last(cell)
        self._cell = None
        for timer in (self._timer, self._search, self._mark):
            if timer is not None:
                timer.cancel()

    def _test_last(self, cell: Cell) -> None:
        now, view, result = time.monotonic(), self._view(), cell.result
        gone = result is not None and result.error == EXITED
        self._feed(Ended(at=now, view=view) if gone else Start(at=now, view=view))
        if self._screen_only or self._fresh.drawn(self._output):
            self._feed(ScreenDrawn(at=now, view=view))
        back = result is not None and result.status is Status.DONE
        if back and self.met is None and "prompt" in self._given:
            self.met = Met(condition="prompt", failing=False, found="prompt")

    def _view(self) -> CellView:
        result = self._cell.result if self._cell is not None else None
        written = result.output if result is not None else self._capture.so_far()
        begin = 0 if written.size <= WHOLE else max(0, min(self._seen, written.size) - OVERLAP)
        self._seen = written.size
        return CellView(self._output, written, begin=begin, fresh=self._fresh)

    def _feed(self, event: Event) -> None:
        if self.met is not None or self._cell is None:
            return
        self.met = self._conditions.feed(event)
        if self.met is not None:
            self._cell.meet()

    def _search_screen(self) -> None:
        self._search = None
        self._feed(ScreenDrawn(at=time.monotonic(), view=self._view()))

    def _tick(self) -> None:
        self._timer = None
        self._feed(Tick(at=time.monotonic(), view=self._view()))
        self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self._conditions.deadline
        if deadline is not None and self.met is None:
            delay = max(0.0, deadline - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(delay, self._tick)


def _any_of(conditions: Sequence[str], *, since: float) -> AnyOf:
    return AnyOf(
        [
            (text, False, machine(text, compiled=compiled, outcome=_refuse, since=since))
            for text in conditions
        ]
    )


def _refuse(cell_id: str) -> str | None:
    raise BadRequest(
        f"cell:{cell_id} is a condition of wait: a run is for the output of its own cell",
        field="until",
    )
