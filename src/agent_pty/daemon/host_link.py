"""The daemon's side of a host's socket: many requests at once, and a pulse."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from typing import TypeVar, cast

import msgspec

from agent_pty.core.frame import Frame, FrameReader, Garbage, Kind, encoded
from agent_pty.errors import AgentPtyError, HostLost, HostUnresponsive, unwrapped
from agent_pty.host.message import AddressedStream, Control, Message
from agent_pty.host.message import encoded as message_body
from agent_pty.ops.model import HostReport

Answer = TypeVar("Answer")

_BEAT = 1.0
# Beats without a sign of life. Counted, not timed: a suspended machine misses none.
_MISSED = 4


class HostStream:
    """A stream from a host: an iterator of bytes that grants credit for what was taken."""

    def __init__(
        self, number: int, send: Callable[[Frame], None], forget: Callable[[], object]
    ) -> None:
        self.head = b""
        self._number = number
        self._send = send
        self._forget = forget
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()

    @property
    def opened(self) -> bool:
        """Whether the head is a success; after a failure nothing follows."""
        return self.head.startswith(b'{"ok":true')

    def feed(self, chunk: bytes | None) -> None:
        """Take what arrived; None is the end. Its size is bounded by the credit granted."""
        self._chunks.put_nowait(chunk)

    def give(self, data: bytes) -> None:
        """Send input to the other end."""
        self._send(Frame(kind=Kind.INPUT, number=self._number, body=data))

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield what arrives; leaving early ends the stream there too."""
        try:
            while (chunk := await self._chunks.get()) is not None:
                yield chunk
                credit = str(len(chunk)).encode()
                self._send(Frame(kind=Kind.CREDIT, number=self._number, body=credit))
        finally:
            self._forget()
            self._send(Frame(kind=Kind.CANCEL, number=self._number))


class HostLink(asyncio.Protocol):
    """One host. *on_lost* is called once, after every open request has failed."""

    def __init__(
        self,
        name: str,
        pid: int | None,
        on_lost: Callable[[HostLink], None],
        on_event: Callable[[bytes], None] = lambda _event: None,
        *,
        build: str | None = None,
    ) -> None:
        self.name = name
        self._pid = pid
        self._build = build
        self._sync_lag_ms: int | None = None
        self._responsive = True
        self._doubtful = False
        self._on_lost = on_lost
        self._on_event = on_event
        self._streams: dict[int, HostStream] = {}
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None
        self._open: dict[int, asyncio.Future[bytes]] = {}
        self._probes: dict[int, asyncio.Future[bool]] = {}
        self._numbers = itertools.count(1)
        self._beat: asyncio.TimerHandle | None = None
        self._missed = 0
        self._closed = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """The host's process."""
        return self._pid

    @property
    def build(self) -> str | None:
        """The build it runs; None until it was asked."""
        return self._build

    @property
    def responsive(self) -> bool:
        """Whether it has answered in time."""
        return self._responsive

    @property
    def doubtful(self) -> bool:
        """Whether it owes a sign of life that was asked for; less than being unresponsive."""
        return self._doubtful

    def introduce(self, report: HostReport) -> None:
        """Take over what the host says of itself."""
        self._pid, self._build = report.pid, report.build
        self._sync_lag_ms = report.sync_lag_ms

    @property
    def sync_lag_ms(self) -> int | None:
        """How long after it was written the host's last event was on the disk; None: unknown."""
        return self._sync_lag_ms

    @property
    def connected(self) -> bool:
        """Whether the host was there when last heard of."""
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be ready for requests."""
        self._transport = cast("asyncio.Transport", transport)

    async def request(
        self, message: Message, payload: bytes = b"", *, number: int | None = None
    ) -> bytes:
        """Return the host's answer as it is; cancelling cancels it there too."""
        if not self.connected or self._transport is None:
            raise self._lost_error()
        number = next(self._numbers) if number is None else number
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        body = message_body(message, payload)
        self._transport.write(encoded(Frame(kind=Kind.REQUEST, number=number, body=body)))
        self._keep_beating()
        try:
            return await answer
        except asyncio.CancelledError:
            self._send(Frame(kind=Kind.CANCEL, number=number))
            raise
        finally:
            self._open.pop(number, None)

    async def control(self, asked: Control[Answer]) -> Answer:
        """Ask the host about itself or its sessions; raise what it answers."""
        data = unwrapped(msgspec.json.decode(await self.request(cast("Message", asked))))
        answer: Answer = msgspec.convert(data, asked.answer)
        return answer

    async def stream(self, asked: AddressedStream, payload: bytes) -> HostStream:
        """Open a stream; its head is the host's answer, of success or failure."""
        number = next(self._numbers)
        stream = HostStream(number, self._send, lambda: self._streams.pop(number, None))
        self._streams[number] = stream
        try:
            stream.head = await self.request(asked, payload, number=number)
        except BaseException:
            self._streams.pop(number, None)
            raise
        if not stream.opened:
            self._streams.pop(number, None)
        return stream

    def data_received(self, data: bytes) -> None:
        """Resolve what was answered; anything at all is a sign of life."""
        self._missed = 0
        self._responsive = True
        self._doubtful = False
        try:
            frames = self._reader.feed(data)
        except Garbage:
            self.close()
            return
        for frame in frames:
            self._receive(frame)

    def _receive(self, frame: Frame) -> None:
        answer, stream = self._open.get(frame.number), self._streams.get(frame.number)
        if frame.kind is Kind.RESPONSE and answer is not None and not answer.done():
            answer.set_result(frame.body)
        elif frame.kind is Kind.STREAM and stream is not None:
            stream.feed(frame.body)
        elif frame.kind is Kind.END and stream is not None:
            stream.feed(None)
        elif frame.kind is Kind.EVENT:
            self._on_event(frame.body)
        elif frame.kind is Kind.PONG and frame.number in self._probes:
            self._settle(self._probes[frame.number], answered=True)

    @staticmethod
    def _settle(probe: asyncio.Future[bool], *, answered: bool) -> None:
        if not probe.done():
            probe.set_result(answered)

    def _keep_beating(self) -> None:
        """Beat while something is asked: an idle host costs nothing."""
        if self._beat is None and self._open:
            self._beat = asyncio.get_running_loop().call_later(_BEAT, self._on_beat)

    def _on_beat(self) -> None:
        self._beat = None
        if not self._open:
            self._missed = 0
            return
        self._missed += 1
        if self._missed > _MISSED:
            self._responsive = False
            self._missed = 0
            self._fail_all(
                HostUnresponsive(
                    f"host {self.name} (pid {self._pid}) does not answer: "
                    "whether it acted is unknown",
                    host_pid=self._pid,
                    delivery="unknown",
                )
            )
        self.ping()
        self._keep_beating()

    def ping(self) -> None:
        """Ask for a sign of life."""
        self._send(Frame(kind=Kind.PING))

    async def answers(self, patience: float) -> bool:
        """Ask for a sign of life; False if none comes within *patience* seconds."""
        if not self.connected:
            return False
        number = next(self._numbers)
        probe: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._probes[number] = probe
        # Numbered: what the host sent before it stopped may still arrive.
        self._send(Frame(kind=Kind.PING, number=number))
        try:
            async with asyncio.timeout(patience):
                return await probe
        except TimeoutError:
            self._doubtful = True
            return False
        finally:
            del self._probes[number]

    def _send(self, frame: Frame) -> None:
        if self.connected and self._transport is not None:
            self._transport.write(encoded(frame))

    def _lost_error(self) -> HostLost:
        return HostLost(
            f"host {self.name} (pid {self._pid}) was lost: whether it acted is unknown",
            host_pid=self._pid,
            delivery="unknown",
        )

    def _fail_all(self, error: AgentPtyError) -> None:
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail what is open, then let the owner find a replacement."""
        del exc
        if self._beat is not None:
            self._beat.cancel()
        self._fail_all(self._lost_error())
        for probe in self._probes.values():
            self._settle(probe, answered=False)
        for stream in list(self._streams.values()):
            stream.feed(None)
        self._closed.set()
        self._on_lost(self)

    async def wait_closed(self) -> None:
        """Return when the host has closed the connection."""
        await self._closed.wait()

    def close(self) -> None:
        """Cut the connection."""
        if self._transport is not None:
            self._transport.abort()
