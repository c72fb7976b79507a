"""The writing end of a stream, which sends no more than its reader has room for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

# What a reader has room for at the start, and never more than this at once.
CREDIT = 64 * 1024


class CreditedWriter:
    """Writes through *send*, within the credit that the reader grants."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._credit = CREDIT
        self._room = asyncio.Event()
        self._room.set()

    def grant(self, credit: int) -> None:
        """The reader has taken so many bytes more."""
        self._credit += credit
        if self._credit > 0:
            self._room.set()

    async def write(self, data: bytes) -> None:
        """Send *data*, then wait until there is room for more.

        Waiting afterwards keeps the source from making the next chunk too early: what a
        slow reader gets next is made when it can be sent, from what is true then.
        """
        if data:
            self._send(data)
            self._credit -= len(data)
        if self._credit <= 0:
            self._room.clear()
            await self._room.wait()
