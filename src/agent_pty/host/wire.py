"""The host's side of its socket: frames in, frames out, many requests at once."""

from __future__ import annotations

import asyncio
import json
from typing import cast

from agent_pty.core.frame import Frame, FrameReader, Garbage, Kind, encoded
from agent_pty.host.host import Host


class HostProtocol(asyncio.Protocol):
    """One connection from a daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Start a task for every request."""
        try:
            frames = self._reader.feed(data)
        except Garbage:
            self._close()
            return
        for frame in frames:
            self._receive(frame)

    def _receive(self, frame: Frame) -> None:
        if frame.kind is Kind.REQUEST:
            task = asyncio.get_running_loop().create_task(self._answer(frame))
            self._tasks[frame.number] = task
            task.add_done_callback(lambda _: self._tasks.pop(frame.number, None))
        elif frame.kind is Kind.CANCEL and frame.number in self._tasks:
            self._tasks[frame.number].cancel()
        elif frame.kind is Kind.PING:
            self._send(Frame(kind=Kind.PONG, number=frame.number))

    async def _answer(self, frame: Frame) -> None:
        header, _, payload = frame.body.partition(b"\n")
        body = await self._host.handle(json.loads(header), payload)
        self._send(Frame(kind=Kind.RESPONSE, number=frame.number, body=body))

    def _send(self, frame: Frame) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(encoded(frame))

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """A daemon that is gone waits for nothing any more."""
        del exc
        for task in self._tasks.values():
            task.cancel()
