"""When the screen stands still after an input.

A screen that was not drawn for a moment has settled if the program has slept since the input and
waits for the keyboard again. Of a program of which that cannot be seen (behind ssh), or that works
without drawing, only a longer silence shows it.
"""

from __future__ import annotations

import asyncio

from agent_pty.host.cells.foreground import observe
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.host.waits.waits import ProgramEnded, Waits

# The first is longer than a program takes between two parts of a screen; after the last the screen
# has settled, whatever the program does.
_SILENCES_MS = (100, 200, 400, 800)


class Settling:
    """Notes who reads the keyboard when it is made, which must be before the input."""

    def __init__(self, terminal: Terminal, waits: Waits) -> None:
        self._terminal = terminal
        self._waits = waits
        self._before = observe(terminal).reader

    async def settle(self, patience: float) -> bool:
        """Return True when the screen stands still, False if it does not within *patience*."""
        try:
            async with asyncio.timeout(patience):
                for silence in _SILENCES_MS:
                    await self._silence(silence)
                    if self._reads_again():
                        break
        except TimeoutError:
            return False
        except ProgramEnded:
            return True  # nobody is left to draw
        return True

    async def _silence(self, milliseconds: int) -> None:
        await self._waits.wait(
            until=[f"idle:{milliseconds}ms"],
            fail_on=[],
            point=self._waits.last_input,
            since=self._terminal.active_at,
            ended=not self._terminal.running,
        )

    def _reads_again(self) -> bool:
        now, before = observe(self._terminal).reader, self._before
        if now is None or now.relays:
            return False
        return before is None or (now.pid, now.naps) != (before.pid, before.naps)
