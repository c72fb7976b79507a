"""The Unix socket: one JSON object per line in, one per line out.

A connection may carry many requests, which are answered in order; a client that wants several
answers at once opens several connections. No client can block another: lines, waiting requests
and unread answers are bounded. A client that exceeds a bound gets an error, is paused or is
disconnected.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from typing import cast

from agent_pty import log
from agent_pty.errors import AgentPtyError, Busy, TooLarge
from agent_pty.keeper.accept import Acceptor
from agent_pty.ops.op import LARGEST_REQUEST, failure
from agent_pty.transports.caller import Caller, HandedOver, SocketHandle, Streaming, peer
from agent_pty.transports.hangup import HangupWatch

_MOST_CLIENTS = 4096
_MOST_WAITING = 64
# A line that was begun must be finished within this time; an idle connection may stay.
_LINE_SECONDS = 30.0
# A client that does not read its answer for this long is disconnected.
_READ_SECONDS = 60.0
_MOST_UNREAD = 1024 * 1024
_MOST_STREAMED = 64 * 1024
# A client that receives nothing for two seconds assumes that the daemon hangs.
_ACKNOWLEDGE = 0.5


class UnixServer:
    """Serves *handle* on a listening socket until closed."""

    def __init__(self, handle: SocketHandle) -> None:
        self.handle = handle
        self.clients: set[UnixClient] = set()
        self.hangups = HangupWatch()
        self.last_use = 0.0  # in the loop's time: when a client connected or disconnected
        self._acceptors: list[Acceptor] = []
        self._abandoned = False

    @property
    def abandoned(self) -> bool:
        """Whether nobody is served any more: the next daemon will do that."""
        return self._abandoned

    async def start(self, listener: socket.socket) -> None:
        """Begin to accept; a second listener may be added later."""
        self.last_use = asyncio.get_running_loop().time()
        acceptor = Acceptor(listener, lambda: UnixClient(self), process="daemon")
        acceptor.start()
        self._acceptors.append(acceptor)

    async def adopt(self, sock: socket.socket, caller: Caller) -> None:
        """Serve a connection of the gateway, which says for whom it asks."""
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(lambda: UnixClient(self, caller), sock)

    def stop_accepting(self) -> None:
        """Accept no new client; those that are connected are still served."""
        for acceptor in self._acceptors:
            acceptor.close()

    def abandon(self) -> None:
        """Disconnect every client and cancel nothing: they will ask the next daemon again."""
        self._abandoned = True
        self.stop_accepting()
        for client in list(self.clients):
            client.abandon()

    def close(self) -> None:
        """Drop every client."""
        self.stop_accepting()
        for client in list(self.clients):
            client.drop()
        self.hangups.close()


class UnixClient(asyncio.Protocol):
    """One connection; *caller* is given if somebody asks in another's name."""

    def __init__(self, server: UnixServer, caller: Caller | None = None) -> None:
        self._server = server
        self._buffer = bytearray()
        self._waiting: deque[bytes] = deque()
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._caller = caller
        self._line_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._finishing = False
        self._streaming: Streaming | None = None
        self._unsent = bytearray()
        self._soon = False  # `_unsent` will be sent in the next turn of the loop
        self._fd = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept only our own uid: a second check, the socket's mode ensures the same."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_MOST_UNREAD)
        sock = transport.get_extra_info("socket")
        self._fd = sock.fileno()
        connected = peer(sock)
        self._caller = self._caller or connected
        # Abandoned: this one was accepted before that, and is connected only now.
        if connected.uid != os.getuid() or self._server.abandoned:
            self._transport.abort()
            return
        self._server.clients.add(self)
        self._server.last_use = asyncio.get_running_loop().time()
        if len(self._server.clients) > _MOST_CLIENTS:
            self._refuse(failure(Busy(f"more than {_MOST_CLIENTS} clients are connected")))

    # -- requests

    def data_received(self, data: bytes) -> None:
        """Split the data into lines; keep an unfinished one, within bounds."""
        if self._streaming is not None:
            self._streaming.give(data)
            return
        if self._finishing:
            return
        begin = len(self._buffer)
        self._buffer += data
        while (end := self._buffer.find(b"\n", begin)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            begin = 0
            if not self._take(line):
                return
        if len(self._buffer) > LARGEST_REQUEST:
            self._too_large()
            return
        if begin == 0:  # the previous line is finished: the rest was begun just now
            self._stop_timing()
        self._time_line()

    def _take(self, line: bytes) -> bool:
        if len(line) > LARGEST_REQUEST:
            self._too_large()
            return False
        if line.strip():
            self._waiting.append(line)
            self._work()
        if len(self._waiting) >= _MOST_WAITING and self._transport is not None:
            self._transport.pause_reading()
        return True

    def _too_large(self) -> None:
        most = LARGEST_REQUEST // (1024 * 1024)
        self._refuse(
            failure(TooLarge(f"a request may have at most {most} MiB", limit=LARGEST_REQUEST))
        )

    def _time_line(self) -> None:
        if self._buffer and self._line_timer is None:
            loop = asyncio.get_running_loop()
            self._line_timer = loop.call_later(_LINE_SECONDS, self._line_late)

    def _stop_timing(self) -> None:
        if self._line_timer is not None:
            self._line_timer.cancel()
            self._line_timer = None

    def _line_late(self) -> None:
        self._line_timer = None
        if self._transport is not None and not self._transport.is_reading():
            self._time_line()  # we paused reading: the client is not late
            return
        self.drop()

    def _work(self) -> None:
        if self._task is None and self._waiting:
            self._task = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        try:
            while self._waiting and self._caller is not None:
                await self._room.wait()
                line = self._waiting.popleft()
                self._resume_reading()
                answer = await self._server.handle(line, self._caller)
                if isinstance(answer, Streaming):
                    await self._stream(answer)
                    return
                if isinstance(answer, HandedOver):
                    await self._hand_over(answer)
                    return
                self._write(answer + b"\n")
        finally:
            self._task = None
        if self._finishing:
            self._finish()

    async def _hand_over(self, answer: HandedOver) -> None:
        """Give the connection to another process, with what has arrived already."""
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.pause_reading()
        self._write(answer.head + b"\n")
        arrived = b"".join(line + b"\n" for line in self._waiting) + bytes(self._buffer)
        self._waiting.clear()
        self._buffer.clear()
        try:
            await answer.take(self._transport.get_extra_info("socket").dup(), arrived)
        except AgentPtyError as error:  # the client sees that nobody speaks with it
            log.line(f"daemon: a connection could not be given away: {error}")
        finally:
            self.drop()  # the duplicate stays open

    async def _stream(self, answer: Streaming) -> None:
        """Use the connection for a stream: it carries bytes, both ways, until it closes."""
        self._streaming = answer
        self._unsent += answer.head + b"\n"
        if answer.patient:
            asyncio.get_running_loop().call_later(_ACKNOWLEDGE, self._send_unsent)
        else:
            self._send_unsent()
        if self._transport is not None:
            self._transport.set_write_buffer_limits(high=_MOST_STREAMED)
        for line in self._waiting:  # input that came right after the request, split into lines
            answer.give(line + b"\n")
        if self._buffer:
            answer.give(bytes(self._buffer))
        self._waiting.clear()
        self._buffer.clear()
        try:
            await answer.pour(self._send_piece)
        finally:
            self._send_unsent()
            self._finish()

    async def _send_piece(self, data: bytes) -> None:
        """Send a piece of a stream, together with others of the same turn of the loop."""
        if len(self._unsent) + len(data) > _MOST_STREAMED:
            self._send_unsent()
            self._write(data)
        else:
            self._unsent += data
            self._send_soon()
        await self._room.wait()

    def _send_soon(self) -> None:
        if not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_soon(self._send_unsent)

    def _send_unsent(self) -> None:
        self._soon = False
        if self._unsent:
            unsent, self._unsent = self._unsent, bytearray()
            self._write(unsent)

    def _resume_reading(self) -> None:
        paused = len(self._waiting) == _MOST_WAITING - 1
        if paused and self._transport is not None and not self._finishing:
            self._transport.resume_reading()

    # -- answers

    def _write(self, data: bytes | bytearray) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def pause_writing(self) -> None:
        """The client does not read: do nothing more for it until it does."""
        self._room.clear()
        if self._streaming is not None:
            return  # what a stream buffers is bounded, so the client may read on at any time
        self._time_reading()

    def _time_reading(self) -> None:
        """Drop the client if it reads nothing for too long."""
        self._stop_timing_reading()
        self._read_timer = asyncio.get_running_loop().call_later(_READ_SECONDS, self.drop)

    def _stop_timing_reading(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def resume_writing(self) -> None:
        """The client reads again: continue to work for it."""
        self._room.set()
        self._stop_timing_reading()

    def _refuse(self, answer: bytes) -> None:
        """Send the error and hang up; whatever else arrives is ignored."""
        self._finishing = True
        self._buffer.clear()
        self._waiting.clear()
        self._write(answer + b"\n")
        self._finish()

    # -- the end

    def eof_received(self) -> bool:
        """The client sends nothing more; it may still wait for its answers."""
        self._finishing = True
        if self._buffer.strip():
            self._waiting.append(bytes(self._buffer))
            self._buffer.clear()
            self._work()
        if self._task is None:
            return False
        self._server.hangups.add(self._fd, self.drop)
        return True

    def _finish(self) -> None:
        if self._transport is not None:
            self._server.hangups.remove(self._fd)
            # Closing waits until the client has read everything; one that never reads is dropped.
            self._time_reading()
            self._transport.close()

    def abandon(self) -> None:
        """Close the connection at once, but leave alone what was asked for."""
        self._task = None
        self.drop()

    def drop(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._server.hangups.remove(self._fd)
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel what this client waited for."""
        del exc
        self._server.hangups.remove(self._fd)
        self._server.clients.discard(self)
        self._server.last_use = asyncio.get_running_loop().time()
        for timer in (self._line_timer, self._read_timer):
            if timer is not None:
                timer.cancel()
        if self._task is not None:
            self._task.cancel()
