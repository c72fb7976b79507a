"""Callers and answers: what a transport passes to `handle` with a request, and what it gets."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from agent_pty.ops.op import Surface

_CREDENTIALS = struct.Struct("3i")
_SURFACES: dict[str, Surface] = {"http": "http", "websocket": "http", "mcp": "mcp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The process that sent a request, as the kernel reports it."""

    transport: str
    uid: int | None
    pid: int | None

    @property
    def surface(self) -> Surface:
        """Which ops are offered to it."""
        return _SURFACES.get(self.transport, "socket")


# Sends bytes to the caller of a stream; awaiting it lasts as long as the caller does not read.
Hear = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Streaming:
    """An answer that continues: *head* is the envelope, *pour* sends what follows.

    *pour* returns at the end of the stream; cancelling it ends the operation that it reports on.
    *give* takes the caller's input meanwhile. With *patient* the head may be sent together with
    the first data: for the caller, one read is faster than two.
    """

    head: bytes
    pour: Callable[[Hear], Awaitable[None]]
    patient: bool = False
    give: Callable[[bytes], None] = lambda _data: None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    """An answer after which another process has the connection: *take* gives it away.

    It gets a duplicate of the socket, which it owns, and what the caller has sent already.
    """

    head: bytes
    take: Callable[[socket.socket, bytes], Awaitable[None]]


def pouring(chunks: AsyncIterator[bytes]) -> Callable[[Hear], Awaitable[None]]:
    """Return a `pour` that sends what an iterator yields."""

    async def pour(hear: Hear) -> None:
        async with contextlib.aclosing(chunks) as source:  # type: ignore[type-var]
            async for chunk in source:
                await hear(chunk)

    return pour


# The one function that every transport calls.
Handle = Callable[[bytes, Caller], Awaitable[bytes | Streaming]]
# The same at the Unix socket, where a connection may also be given away.
Answered = bytes | Streaming | HandedOver
SocketHandle = Callable[[bytes, Caller], Awaitable[Answered]]


def peer(sock: socket.socket) -> Caller:
    """Ask the kernel who connected to a Unix socket."""
    if hasattr(socket, "SO_PEERCRED"):
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(raw)
        return Caller(transport="unix", uid=uid, pid=pid)
    # macOS: xucred has the uid after a version word, and no pid.
    raw = sock.getsockopt(0, 0x001, 76)
    return Caller(transport="unix", uid=struct.unpack_from("i", raw, 4)[0], pid=None)
