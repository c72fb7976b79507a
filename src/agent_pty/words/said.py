"""What a command says: bytes for its two outputs and, last, its exit status.

Each frame is one byte of kind, four of length and the payload; `cli/k` reads them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

_OUT, _ERR, _EXIT = 1, 2, 3
_LARGEST = 256 * 1024
# Who speaks faster than is listened to waits.
_AHEAD = 4


def _frame(kind: int, payload: bytes) -> bytes:
    return bytes([kind]) + len(payload).to_bytes(4, "big") + payload


class Said:
    """Takes what is said and yields it as frames, never more than a little ahead."""

    def __init__(self) -> None:
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)

    async def out(self, text: str) -> None:
        """Say on standard output."""
        await self._say(_OUT, text)

    async def line(self, text: str) -> None:
        """Say one line on standard output."""
        await self._say(_OUT, text + "\n")

    async def err(self, text: str) -> None:
        """Say one line on standard error."""
        await self._say(_ERR, text + "\n")

    async def end(self, status: int) -> None:
        """Say no more."""
        await self._frames.put(_frame(_EXIT, str(status).encode()))
        await self._frames.put(None)

    async def _say(self, kind: int, text: str) -> None:
        data = text.encode(errors="replace")
        for start in range(0, len(data), _LARGEST):
            await self._frames.put(_frame(kind, data[start : start + _LARGEST]))

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield frames to the end."""
        while (frame := await self._frames.get()) is not None:
            yield frame
