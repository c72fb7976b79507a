"""A bounded view on a stream for one reader, who may be slow or stopped.

The writer never waits. A reader who falls behind by more than the bound loses what is in
between and is told so; it then asks for the present state instead of the past.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What there is to read: bytes, or *lagged* instead of them, or the *end*."""

    data: bytes = b""
    lagged: bool = False
    end: bool = False


class Tap:
    """One reader's buffer."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._lagged = False
        self._ended = False
        self._news = asyncio.Event()

    @property
    def lagged(self) -> bool:
        """Whether the reader has lost something and was not told yet."""
        return self._lagged

    def offer(self, data: bytes) -> None:
        """Add bytes; too many at once mean that the reader has lagged."""
        if self._lagged or not data:
            return
        if len(self._buffer) + len(data) > self._limit:
            self._buffer.clear()
            self._lagged = True
        else:
            self._buffer += data
        self._news.set()

    def end(self) -> None:
        """Say that nothing more will come."""
        self._ended = True
        self._news.set()

    async def take(self) -> Piece:
        """Return what has come since the last call; wait if nothing has."""
        await self._news.wait()
        if self._lagged:
            self._lagged = False
            self._rest()
            return Piece(lagged=True)
        if self._buffer:
            data = bytes(self._buffer)
            self._buffer.clear()
            self._rest()
            return Piece(data=data)
        return Piece(end=True)

    def _rest(self) -> None:
        if not self._ended:
            self._news.clear()
