"""A person at the terminal: what they see of a session, made safe for their own terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator

from agent_pty.core.safe import QUIET, Allowed, SafeOutput
from agent_pty.emulator import Emulator
from agent_pty.host.tap import Tap

# More than this between two looks nobody reads: show the present screen instead.
_LIMIT = 128 * 1024
_CLEAR = b"\x1b[H\x1b[2J"
_ENTER_ALTERNATE = b"\x1b[?1049h"


class Attachment:
    """One person's view. The session offers raw output to *tap*; `output` yields what is safe."""

    def __init__(self, emulator: Emulator, *, allowed: Allowed, raw: bool = False) -> None:
        self.tap = Tap(limit=_LIMIT)
        self._emulator = emulator
        self._allowed = allowed
        self._raw = raw
        self._filter = SafeOutput(allowed)

    async def output(self, *, history: int) -> AsyncIterator[bytes]:
        """Yield the past, at most *history* bytes of it, then the present as it comes."""
        if history:
            yield self._past(history)
        while True:
            piece = await self.tap.take()
            if piece.end:
                return
            if piece.lagged:
                self._filter = SafeOutput(self._allowed)
                yield self._repaint()
            else:
                yield piece.data if self._raw else self._filter.feed(piece.data)

    def _past(self, history: int) -> bytes:
        """Let the past scroll by, then paint the screen: both terminals then show the same."""
        if self._emulator.alternate:
            return self._repaint()
        painted = self._emulator.format("vt", scrollback=True).encode()
        above = b"\r\n".join(painted.split(b"\r\n")[: self._emulator.scrollback_rows])
        if len(above) > history:
            # Begin with a line: half a sequence at the start would show.
            above = above[above.find(b"\n", len(above) - history) + 1 :]
        return SafeOutput().feed(above) + b"\r\n" * self._emulator.rows + self._repaint()

    def _repaint(self) -> bytes:
        """Paint the screen as it is now over whatever the person has."""
        switch = _ENTER_ALTERNATE if self._emulator.alternate else b""
        return QUIET + switch + _CLEAR + SafeOutput().feed(self._emulator.format("vt").encode())
