"""A bounded buffer for one viewer, which may be slow or stopped.

The writer never waits. A viewer that falls behind by more than the bound loses what is in
between. It is told so, and then gets the present screen instead of the past.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What there is to read: bytes, or *overflowed* instead of them, or the *end*."""

    data: bytes = b""
    overflowed: bool = False
    end: bool = False


class Buffer:
    """What waits for one viewer."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._overflowed = False
        self._ended = False
        self._news = asyncio.Event()

    @property
    def overflowed(self) -> bool:
        """Whether the viewer has lost something and does not know it yet."""
        return self._overflowed

    def offer(self, data: bytes) -> None:
        """Add bytes; if they do not fit, everything in the buffer is dropped."""
        if self._overflowed or not data:
            return
        if len(self._buffer) + len(data) > self._limit:
            self.overflow()
            return
        self._buffer += data
        self._news.set()

    def overflow(self) -> None:
        """Drop everything in the buffer: the viewer gets the screen instead."""
        self._buffer.clear()
        self._overflowed = True
        self._news.set()

    def end(self) -> None:
        """Say that nothing more will come."""
        self._ended = True
        self._news.set()

    async def take(self) -> Piece:
        """Return what has come since the last call; wait if nothing has."""
        await self._news.wait()
        if self._overflowed:
            self._overflowed = False
            self._rest()
            return Piece(overflowed=True)
        if self._buffer:
            data = bytes(self._buffer)
            self._buffer.clear()
            self._rest()
            return Piece(data=data)
        return Piece(end=True)

    def _rest(self) -> None:
        if not self._ended:
            self._news.clear()
