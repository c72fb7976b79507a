"""People attached to a session: what they see of it, made safe for their own terminals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from agent_pty.core.safe import QUIET, Allowed, SafeOutput
from agent_pty.host import principal
from agent_pty.host.events import Attached, Batch, Detached, Event, Exited, Lost, Signal
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.host.viewers.buffer import Buffer

# If more than this is written between two reads, nobody could follow it: repaint instead.
_LIMIT = 128 * 1024
_CLEAR = b"\x1b[H\x1b[2J"
_ENTER_ALTERNATE = b"\x1b[?1049h"
# Repaints each second: for one viewer, and for all viewers of one session together.
_REPAINTS_EACH = 20
_REPAINTS_ALL = 200


@dataclass(slots=True, kw_only=True, eq=False)
class Viewer:
    """One person; what is for them waits in their buffer."""

    allowed: Allowed
    raw: bool
    buffer: Buffer = field(default_factory=lambda: Buffer(limit=_LIMIT))


class Viewers:
    """A listener: everybody who is attached. What is the same for several is made once."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._emulator = terminal.output.emulator
        self._viewers: set[Viewer] = set()
        self._filters: dict[Allowed, SafeOutput] = {}

    def __len__(self) -> int:
        return len(self._viewers)

    def notice(self, event: Event | Signal) -> None:
        """Show output; let everybody go when the session ends."""
        if isinstance(event, Batch):
            self._offer(event.data)
        elif isinstance(event, Exited | Lost):
            self.close()

    def _offer(self, data: bytes) -> None:
        """Give everybody what the program wrote, except a viewer that has fallen behind."""
        safe: dict[Allowed, bytes] = {}
        for viewer in self._viewers:
            if viewer.buffer.overflowed:
                continue
            if not viewer.raw and viewer.allowed not in safe:
                known = self._filters.setdefault(viewer.allowed, SafeOutput(viewer.allowed))
                safe[viewer.allowed] = known.feed(data)
            viewer.buffer.offer(data if viewer.raw else safe[viewer.allowed])
        # A filter that missed a batch has lost its place.
        self._filters = {flags: self._filters[flags] for flags in safe}

    async def attach(
        self, *, read_only: bool, history: int, allowed: Allowed, raw: bool, repaint: bool
    ) -> AsyncGenerator[bytes]:
        """Yield the past, at most *history* bytes of it, then the present until the end.

        With *repaint* begin with the screen as it is.
        """
        viewer = Viewer(allowed=allowed, raw=raw)
        if not self._terminal.running:
            viewer.buffer.end()
        self._viewers.add(viewer)
        log, output, by = self._terminal.events, self._terminal.output, principal.acting.get()
        log.publish(Attached(cursor=output.cursor, by=by, read_only=read_only, attached=len(self)))
        try:
            if repaint:
                yield self._repaint()
            elif history:
                yield self._past(history)
            while not (piece := await viewer.buffer.take()).end:
                if not piece.overflowed:
                    yield piece.data
                    continue
                yield self._repaint()
                await asyncio.sleep(max(1 / _REPAINTS_EACH, len(self) / _REPAINTS_ALL))
        finally:
            self._viewers.discard(viewer)
            log.publish(Detached(cursor=output.cursor, by=by, attached=len(self)))

    def close(self) -> None:
        """Let everybody go."""
        for viewer in self._viewers:
            viewer.buffer.end()

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
