"""One connection to the daemon, in an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any

from agent_pty.api.results import result
from agent_pty.errors import DaemonUnreachable
from agent_pty.ops.op import PROTOCOL, encode

# No answer and no event is longer.
_LONGEST_LINE = 64 * 1024 * 1024
_CHUNK = 1 << 16


class AsyncConnection:
    """One request at a time, or one stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def fileno(self) -> int:
        """Return the descriptor of the socket; -1 if it is closed."""
        number: int = self._writer.get_extra_info("socket").fileno()
        return number

    def close(self) -> None:
        """Hang up; a wait that runs is cancelled by that."""
        self._writer.close()

    async def answer_to(self, line: bytes) -> bytes:
        """Send the line of a request and return the line of its answer; empty if none came."""
        await self.send(line)
        return await self.line()

    async def opened(self, op: str, fields: dict[str, Any]) -> Any:
        """Open a stream and return what its answer says; raise the error if it is refused."""
        line = await self.answer_to(encode(op, {**fields, "v": PROTOCOL}) + b"\n")
        if not line.endswith(b"\n"):
            raise DaemonUnreachable("the daemon closed the connection without an answer")
        return result(op, line)

    async def send(self, data: bytes) -> None:
        """Send; if the daemon is gone, what is read will show it."""
        self._writer.write(data)
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def line(self) -> bytes:
        """Return a line; one without line end, or none, if the connection ended."""
        try:
            return await self._reader.readline()
        except ConnectionError:  # a daemon that is killed resets it
            return b""

    async def chunk(self) -> bytes:
        """Return what came; empty at the end of the connection."""
        try:
            return await self._reader.read(_CHUNK)
        except ConnectionError:
            return b""


async def dial(path: str) -> AsyncConnection:
    """Connect; raise if nobody listens."""
    try:
        try:
            wire = _connected(path, wait=False)
        except BlockingIOError:
            # Too many clients wait to be accepted, while a daemon starts. The event loop cannot
            # wait for that: of a Unix socket it takes the refusal for a connection.
            wire = await asyncio.to_thread(_connected, path, wait=True)
        wire.setblocking(False)
        streams = await asyncio.open_unix_connection(sock=wire, limit=_LONGEST_LINE)
    except OSError as error:
        raise DaemonUnreachable(
            f"connect to {path}: {error.strerror or error}", socket=path
        ) from error
    return AsyncConnection(*streams)


def _connected(path: str, *, wait: bool) -> socket.socket:
    wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    wire.setblocking(wait)
    try:
        wire.connect(path)
    except BaseException:
        wire.close()
        raise
    return wire
