"""Stop what a cell runs: ever less politely, and with the terminal as it was before."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Literal

from agent_pty.core.chord import chord
from agent_pty.core.quit_keys import leaving_keys
from agent_pty.errors import SessionEnded
from agent_pty.host.cells.cell import Cell
from agent_pty.host.cells.readiness import Front
from agent_pty.host.terminal import tty
from agent_pty.host.terminal.terminal import Terminal

CTRL_C = b"\x03"
Strike = Literal["ctrl-c", "leave"] | signal.Signals
# What is tried, and how long a program gets after each. Who leaves by its own keys leaves the
# terminal as it was; zsh would keep what a killed editor has set.
_STRIKES: tuple[tuple[Strike, float], ...] = (
    ("ctrl-c", 0.6),
    ("leave", 0.6),
    ("ctrl-c", 0.6),
    (signal.SIGTERM, 1.0),
    (signal.SIGKILL, 1.0),
)


class Stopper:
    """Strikes at the program in front; *struck* is told each time."""

    def __init__(self, terminal: Terminal, front: Front, struck: Callable[[], None]) -> None:
        self._terminal = terminal
        self._front = front
        self._struck = struck

    async def stop(self, cell: Cell, unmarked: Callable[[Cell], None]) -> bool:
        """Return whether the cell has ended; after Ctrl-C *unmarked* may end it by a look."""
        for strike, patience in _STRIKES:
            if not await self._strike(strike):
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await cell.until(lambda: cell.result is not None)
            if cell.result is None and strike == "ctrl-c":
                unmarked(cell)
            if cell.result is not None:
                self._repair(cell, killed=isinstance(strike, signal.Signals))
                return True
        return False

    async def _strike(self, strike: Strike) -> bool:
        """Try one thing; False if it does not apply."""
        look, hands = self._front.look(), self._terminal.hands
        keys = leaving_keys(look.name) if strike == "leave" and not look.seat.line_mode else []
        # Signals are not for the session's own program: its end would be the session's.
        if strike != "ctrl-c" and (look.seat.own or (strike == "leave" and not keys)):
            return False
        with contextlib.suppress(SessionEnded):
            if isinstance(strike, signal.Signals):
                self._terminal.signal(strike, everyone=False)
            elif keys:
                await hands.keys([chord(key) for key in keys], pause=0)
            else:
                await hands.press(CTRL_C)
        self._struck()
        return True

    def _repair(self, cell: Cell, *, killed: bool) -> None:
        """Undo what a program that was stopped did to the terminal; dash does not."""
        if killed:
            self._terminal.audience.output(self._terminal.stream.straighten())
        if cell.line_mode and cell.modes is not None and self._front.look().seat.own:
            tty.restore(self._terminal.master, cell.modes)
