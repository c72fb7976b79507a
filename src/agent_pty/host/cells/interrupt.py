"""Stop what a cell runs: politely first, and leave the terminal as it was before."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable
from typing import Literal

from agent_pty.core.chord import chord
from agent_pty.core.quit_keys import quit_keys
from agent_pty.errors import NotReady, SessionEnded
from agent_pty.host.cells.cell import Cell
from agent_pty.host.cells.foreground import Foreground
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.principal import SYSTEM
from agent_pty.host.terminal.input import Input
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.terminal import Terminal

CTRL_C = b"\x03"
Attempt = Literal["ctrl-c", "quit"] | signal.Signals
# What is tried, and how long a program gets after each. A program that quits by its own keys
# leaves the terminal as it was; zsh would keep what a killed editor has set.
_ATTEMPTS: tuple[tuple[Attempt, float], ...] = (
    ("ctrl-c", 0.6),
    ("quit", 0.6),
    ("ctrl-c", 0.6),
    (signal.SIGTERM, 1.0),
    (signal.SIGKILL, 1.0),
)
# Of Ctrl-C at a line that is not complete.
_LINE_SECONDS = 0.5
_LINE_TRIES = 4
_LINE_LOOKS = 60


class Interrupter:
    """Stops the program in the foreground; *attempted* is called after each attempt."""

    def __init__(
        self,
        terminal: Terminal,
        given: Input,
        readiness: Readiness,
        attempted: Callable[[], None],
    ) -> None:
        self._terminal = terminal
        self._input = given
        self._readiness = readiness
        self._attempted = attempted

    async def stop(self, cell: Cell, end_by_observation: Callable[[Cell], None]) -> bool:
        """Return whether the cell has ended.

        After Ctrl-C a shell may be at a prompt that it does not mark: *end_by_observation* may
        then end the cell.
        """
        for attempt, patience in _ATTEMPTS:
            if not await self._try(attempt, cell):
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await cell.until(lambda: cell.result is not None)
            if cell.result is None and attempt == "ctrl-c":
                end_by_observation(cell)
            if cell.result is not None:
                self._repair(cell, killed=isinstance(attempt, signal.Signals))
                return True
        return False

    async def _try(self, attempt: Attempt, cell: Cell) -> bool:
        """Try one thing; False if it does not apply."""
        seen = self._readiness.observe()
        keys = quit_keys(seen.name) if attempt == "quit" and not seen.tty.line_mode else []
        if attempt != "ctrl-c" and (_spared(seen, cell) or (attempt == "quit" and not keys)):
            return False
        with contextlib.suppress(SessionEnded):
            if isinstance(attempt, signal.Signals):
                self._terminal.signal(attempt, everyone=False)
            elif keys:
                chords = [chord(key) for key in keys]
                await self._input.keys(chords, pause=0, kind=InputKind.QUIT, by=SYSTEM)
            else:
                await self._input.press(CTRL_C, kind=InputKind.INTERRUPT)
        self._attempted()
        return True

    def _repair(self, cell: Cell, *, killed: bool) -> None:
        """Undo what a program that was stopped did to the terminal; dash does not."""
        if killed:
            self._terminal.straighten()
        line_mode = cell.start is not None and cell.start.line_mode
        if line_mode and cell.modes is not None and self._readiness.observe().tty.own:
            self._terminal.restore(cell.modes)


def _spared(seen: Foreground, cell: Cell) -> bool:
    """Whether a signal would end more than the cell.

    The end of the session's own program would be the end of the session. The end of a relay into
    which the code was typed (ssh) would be the end of the shell on its other side.
    """
    typed_into = cell.start.reader if cell.start is not None else None
    reader = seen.reader
    return seen.tty.own or (reader is not None and reader.relays and reader.pid == typed_into)


async def give_up_line(
    given: Input, readiness: Readiness, ready: Callable[[float], Awaitable[None]]
) -> None:
    """Press Ctrl-C until there is a prompt: zsh loses one that comes before it reads.

    A shell that still works on the first one gets no second: that would draw another prompt, which
    would be taken for the end of the next cell.
    """
    pressed = 0
    for _ in range(_LINE_LOOKS):
        if pressed == 0 or (pressed < _LINE_TRIES and readiness.observe().tty.reading):
            await given.press(CTRL_C, kind=InputKind.INTERRUPT, by=SYSTEM)
            pressed += 1
        with contextlib.suppress(NotReady):
            await ready(_LINE_SECONDS)
            return
