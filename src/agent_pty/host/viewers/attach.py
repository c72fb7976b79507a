"""A person at the terminal: what they see of a session, made safe for their own terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from agent_pty.core.safe import QUIET, Allowed, SafeOutput
from agent_pty.emulator import Emulator
from agent_pty.host.viewers.buffer import Tap

# More than this between two looks nobody reads: show the present screen instead.
_LIMIT = 128 * 1024
_CLEAR = b"\x1b[H\x1b[2J"
_ENTER_ALTERNATE = b"\x1b[?1049h"
# Repaints for one person, and for all who look at one session, each second.
_FRAMES_EACH = 20
_FRAMES_ALL = 200


@dataclass(slots=True, kw_only=True, eq=False)
class Attachment:
    """One person's view; what is for them waits in their tap."""

    allowed: Allowed
    raw: bool
    tap: Tap = field(default_factory=lambda: Tap(limit=_LIMIT))


class Gallery:
    """All who are attached to one session. What is the same for several is made once."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._attached: set[Attachment] = set()
        self._filters: dict[Allowed, SafeOutput] = {}

    def __len__(self) -> int:
        return len(self._attached)

    def offer(self, data: bytes) -> None:
        """Give everybody what the program wrote, except who has fallen behind anyway."""
        safe: dict[Allowed, bytes] = {}
        for one in self._attached:
            if one.tap.lagged:
                continue
            if not one.raw and one.allowed not in safe:
                known = self._filters.setdefault(one.allowed, SafeOutput(one.allowed))
                safe[one.allowed] = known.feed(data)
            one.tap.offer(data if one.raw else safe[one.allowed])
        # A filter that missed a batch has lost its place.
        self._filters = {flags: self._filters[flags] for flags in safe}

    async def attach(self, one: Attachment, *, history: int) -> AsyncGenerator[bytes]:
        """Yield the past, at most *history* bytes of it, then the present as it comes."""
        self._attached.add(one)
        try:
            if history:
                yield self._past(history)
            while not (piece := await one.tap.take()).end:
                if not piece.lagged:
                    yield piece.data
                    continue
                yield self._repaint()
                await asyncio.sleep(max(1 / _FRAMES_EACH, len(self) / _FRAMES_ALL))
        finally:
            self._attached.discard(one)

    def end(self) -> None:
        """Let everybody go."""
        for one in self._attached:
            one.tap.end()

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
