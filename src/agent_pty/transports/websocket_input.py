"""A WebSocket's messages: a request, then a stream both ways. A client that leaves is noticed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Mapping
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from agent_pty.transports.caller import Streaming
from agent_pty.transports.stream_response import first_of

# Input that may come before the answer to the request; more is read afterwards.
_MOST_EARLY = 64


class Incoming:
    """The messages of one client, in their order; each reader raises when the client leaves."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._early: deque[bytes] = deque()

    async def next(self) -> bytes:
        """Return the next message."""
        return self._early.popleft() if self._early else _content(await self._socket.receive())

    async def meanwhile(self, work: Awaitable[bytes | Streaming]) -> bytes | Streaming:
        """Return what *work* returns; it is cancelled if the client leaves first."""
        found: list[bytes | Streaming] = []
        answered = asyncio.Event()

        async def answer() -> None:
            found.append(await work)

        async def listen() -> None:
            while len(self._early) < _MOST_EARLY:
                self._early.append(_content(await self._socket.receive()))
            await answered.wait()

        try:
            await first_of(answer(), listen())
        except WebSocketDisconnect:
            if not found:  # else it is a stream, perhaps, which must be closed
                raise
        return found[0]

    async def exchange(self, answer: Streaming) -> None:
        """Send a stream's head and what follows, and pass on what comes, until either ends."""
        begun = asyncio.Event()

        async def hear(data: bytes) -> None:
            await begun.wait()
            await self._socket.send_bytes(data)

        async def give() -> None:
            await self._socket.send_text(answer.head.decode())
            begun.set()
            while True:
                answer.give(await self.next())

        # The stream closes its connection whatever happens to the head, because it has begun.
        await first_of(answer.pour(hear), give())


def _content(event: Mapping[str, Any]) -> bytes:
    if event["type"] == "websocket.disconnect":
        raise WebSocketDisconnect
    data: bytes | None = event.get("bytes")
    return data if data is not None else str(event.get("text") or "").encode()
