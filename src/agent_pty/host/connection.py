"""The host's side of its socket: frames in, frames out, many requests and streams at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

import msgspec

from agent_pty.core.frame import Frame, FrameReader, Garbage, Kind, encoded
from agent_pty.errors import BadRequest
from agent_pty.host.host import Host
from agent_pty.host.message import Addressed, AddressedStream, Watch, decoded
from agent_pty.host.request import Opened
from agent_pty.host.viewers.credit import CreditedWriter
from agent_pty.keeper.listen import is_ours
from agent_pty.ops.op import failure


class HostProtocol(asyncio.Protocol):
    """One connection from a daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._streams: dict[int, tuple[CreditedWriter, Opened]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go; a peer with another uid gets none."""
        self._transport = cast("asyncio.Transport", transport)
        if not is_ours(transport.get_extra_info("socket")):
            self._transport.abort()

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
            self._hold(frame.number, self._answer(frame))
        elif frame.kind is Kind.CANCEL and frame.number in self._tasks:
            self._tasks[frame.number].cancel()
        elif frame.kind is Kind.PING:
            self._send(Frame(kind=Kind.PONG, number=frame.number))
        elif frame.number in self._streams:
            writer, opened = self._streams[frame.number]
            if frame.kind is Kind.CREDIT:
                writer.grant(int(frame.body))
            elif frame.kind is Kind.INPUT:
                opened.typed(frame.body)

    def _hold(self, number: int, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    async def _answer(self, frame: Frame) -> None:
        try:
            asked, payload = decoded(frame.body)
        except msgspec.DecodeError as error:  # of a daemon whose build has other messages
            body = failure(BadRequest(f"unknown message to a host: {error}"))
            self._send(Frame(kind=Kind.RESPONSE, number=frame.number, body=body))
            return
        if isinstance(asked, AddressedStream):
            await self._stream(frame.number, asked, payload)
            return
        if isinstance(asked, Addressed):
            body = await self._host.answer(asked, payload, self._connected)
        else:
            if isinstance(asked, Watch):
                self._host.watch(self._send_event if asked.on else None)
            body = await self._host.control(asked)
        self._send(Frame(kind=Kind.RESPONSE, number=frame.number, body=body))

    async def _stream(self, number: int, asked: AddressedStream, payload: bytes) -> None:
        opened = self._host.open(asked, payload)
        if opened.chunks is None:
            self._send(Frame(kind=Kind.RESPONSE, number=number, body=opened.head))
            return
        writer = CreditedWriter(
            lambda data: self._send(Frame(kind=Kind.STREAM, number=number, body=data))
        )
        self._streams[number] = (writer, opened)
        self._send(Frame(kind=Kind.RESPONSE, number=number, body=opened.head))
        try:
            await _pour(opened.chunks, writer)
        finally:
            del self._streams[number]
            opened.close()
            self._send(Frame(kind=Kind.END, number=number))

    def _send_event(self, event: bytes) -> None:
        self._send(Frame(kind=Kind.EVENT, body=event))

    def _send(self, frame: Frame) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(encoded(frame))

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _connected(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the streams, which nobody reads any more.

        A request goes on: its caller did not leave, the daemon did. The next daemon asks for the
        answer again, by the request's key.
        """
        del exc
        self._transport = None
        self._host.watch(None)
        for number in list(self._streams):
            self._tasks[number].cancel()


async def _pour(chunks: AsyncIterator[bytes], writer: CreditedWriter) -> None:
    """Send chunk by chunk, each only when the reader has room for it."""
    async with contextlib.aclosing(chunks) as source:  # type: ignore[type-var]
        async for chunk in source:
            await writer.write(chunk)
