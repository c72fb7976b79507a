"""Who asks: every payload comes with its principal."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

_CREDENTIALS = struct.Struct("3i")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The process at the other end, as the kernel knows it."""

    transport: str
    uid: int | None
    pid: int | None


# Takes bytes, and keeps who gives them waiting while the other end does not read.
Hear = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Streaming:
    """An answer that goes on: *head* is the envelope, *pour* gives what follows to who listens.

    It returns at the end, and cancelling it ends what it tells of; *give* takes input meanwhile.
    With *patient* the head may wait for what comes first: one thing to read is faster than two.
    """

    head: bytes
    pour: Callable[[Hear], Awaitable[None]]
    patient: bool = False
    give: Callable[[bytes], None] = lambda _data: None


def pouring(chunks: AsyncIterator[bytes]) -> Callable[[Hear], Awaitable[None]]:
    """Return the `pour` of an iterator."""

    async def pour(hear: Hear) -> None:
        async with contextlib.aclosing(chunks) as source:  # type: ignore[type-var]
            async for chunk in source:
                await hear(chunk)

    return pour


# The one function behind every transport.
Handle = Callable[[bytes, Caller], Awaitable[bytes | Streaming]]


def peer(sock: socket.socket) -> Caller:
    """Ask the kernel who connected to a Unix socket."""
    if hasattr(socket, "SO_PEERCRED"):
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(raw)
        return Caller(transport="unix", uid=uid, pid=pid)
    # macOS: xucred carries the uid behind a version word, and no pid.
    raw = sock.getsockopt(0, 0x001, 76)
    return Caller(transport="unix", uid=struct.unpack_from("i", raw, 4)[0], pid=None)
