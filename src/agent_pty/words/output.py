"""What a command prints: frames for its two outputs and, last, its exit status."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent_pty.words.frames import ToCaller, frame

# Takes a frame, and returns when the caller has room for more.
Send = Callable[[bytes], Awaitable[None]]

_LARGEST = 256 * 1024


class Output:
    """Prints to the caller through *send*."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def write(self, text: str) -> None:
        """Print to standard output, as it is."""
        await self._text(ToCaller.OUT, text)

    async def line(self, text: str) -> None:
        """Print one line to standard output."""
        await self._text(ToCaller.OUT, text + "\n")

    async def err(self, text: str) -> None:
        """Print one line to standard error."""
        await self._text(ToCaller.ERR, text + "\n")

    async def end(self, status: int) -> None:
        """Print nothing more."""
        await self._send(frame(ToCaller.STATUS, str(status).encode()))

    async def _text(self, kind: ToCaller, text: str) -> None:
        data = text.encode(errors="replace")
        for start in range(0, len(data), _LARGEST):
            await self._send(frame(kind, data[start : start + _LARGEST]))
