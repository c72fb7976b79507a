"""What only the caller has: its standard input, its environment, its view of the files."""

from __future__ import annotations

import asyncio
import os

from agent_pty.errors import TooLarge, Usage
from agent_pty.ops.op import LARGEST_REQUEST
from agent_pty.words.frames import FromCaller, ToCaller, frame
from agent_pty.words.output import Send


class Caller:
    """Asks the script for things by *send*; `feed` takes what it answers. One thing at a time."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._answered: asyncio.Future[bytes] | None = None
        self._data = bytearray()
        self._environment: dict[str, str] | None = None

    def feed(self, kind: FromCaller, payload: bytes) -> None:
        """Take a frame of the script."""
        answered = self._answered
        if answered is None or answered.done():
            return
        if kind is FromCaller.DATA:
            self._data += payload
            if len(self._data) > LARGEST_REQUEST:
                answered.set_exception(_too_large())
        elif kind is FromCaller.END:
            answered.set_result(bytes(self._data))
        elif kind is FromCaller.FAILED:
            answered.set_exception(Usage(payload.decode(errors="replace")))

    async def stdin(self) -> bytes:
        """Return everything on standard input."""
        return await self._ask(ToCaller.SEND, b"stdin")

    async def environment(self) -> dict[str, str]:
        """Return the environment; bytes that are not UTF-8 are surrogates."""
        if self._environment is None:
            data = await self._ask(ToCaller.SEND, b"env")
            pairs = (os.fsdecode(item).partition("=") for item in data.split(b"\0") if item)
            self._environment = {name: value for name, _, value in pairs}
        return self._environment

    async def read_file(self, path: str) -> bytes:
        """Return the content of a file; a relative path begins at the caller's directory."""
        return await self._ask(ToCaller.SEND, b"file\0" + os.fsencode(path))

    async def write_file(self, path: str, data: bytes) -> None:
        """Write a file."""
        await self._ask(ToCaller.WRITE, os.fsencode(path) + b"\0" + data)

    async def _ask(self, kind: ToCaller, payload: bytes) -> bytes:
        self._answered = asyncio.get_running_loop().create_future()
        self._data.clear()
        try:
            await self._send(frame(kind, payload))
            return await self._answered
        finally:
            self._answered = None


def _too_large() -> TooLarge:
    most = LARGEST_REQUEST // (1024 * 1024)
    return TooLarge(f"a request may have at most {most} MiB", limit=LARGEST_REQUEST)
