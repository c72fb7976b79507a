"""What a command says: bytes for its two outputs and, last, its exit status.

Each frame is one byte of kind, four of length and the payload; `cli/k` reads them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

# Takes a frame, and keeps who speaks waiting while nobody listens.
Hear = Callable[[bytes], Awaitable[None]]

_OUT, _ERR, _EXIT = 1, 2, 3
_LARGEST = 256 * 1024


def _frame(kind: int, payload: bytes) -> bytes:
    return bytes([kind]) + len(payload).to_bytes(4, "big") + payload


class Said:
    """Gives what is said to *hear*, as frames."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear

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
        await self._hear(_frame(_EXIT, str(status).encode()))

    async def _say(self, kind: int, text: str) -> None:
        data = text.encode(errors="replace")
        for start in range(0, len(data), _LARGEST):
            await self._hear(_frame(kind, data[start : start + _LARGEST]))
