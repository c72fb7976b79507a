"""What a command prints: frames for its two outputs and, last, its exit status."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from agent_pty.words.frames import ToCaller, frame

# Takes a frame, and returns when the caller has room for more.
Send = Callable[[bytes], Awaitable[None]]

_LARGEST = 256 * 1024


class Output:
    """Prints to the caller through *send*.

    *printed* is how many bytes of each output the caller has from a daemon that died: they are
    made again and left out. On a *terminal* the last line is ended, for the prompt that follows.
    """

    def __init__(
        self, send: Send, *, printed: Sequence[int] = (0, 0), terminal: bool = False
    ) -> None:
        self._send = send
        self._terminal = terminal
        self._unfinished = False  # the last line on standard output
        self._printed = dict(zip((ToCaller.OUT, ToCaller.ERR), printed, strict=True))

    async def write(self, text: str) -> None:
        """Print to standard output, as it is."""
        self._unfinished = not text.endswith("\n") if text else self._unfinished
        await self._text(ToCaller.OUT, text)

    async def line(self, text: str) -> None:
        """Print one line to standard output."""
        await self.write(text + "\n")

    async def err(self, text: str) -> None:
        """Print one line to standard error."""
        await self._text(ToCaller.ERR, text + "\n")

    async def bookmark(self, place: str) -> None:
        """Say where to continue if the daemon dies: what was printed so far is settled."""
        await self._send(frame(ToCaller.BOOKMARK, place.encode()))

    async def end(self, status: int) -> None:
        """Print nothing more."""
        if self._terminal and self._unfinished:
            await self.line("")
        await self._send(frame(ToCaller.STATUS, str(status).encode()))

    async def _text(self, kind: ToCaller, text: str) -> None:
        data = text.encode(errors="replace")
        known = min(self._printed[kind], len(data))
        self._printed[kind] -= known
        for start in range(known, len(data), _LARGEST):
            await self._send(frame(kind, data[start : start + _LARGEST]))
