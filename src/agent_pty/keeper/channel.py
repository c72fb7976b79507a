"""Messages with file descriptors over a Unix stream socket.

A message is a JSON object in a frame; the descriptors it carries travel as ancillary
data of the frame's first byte. Nothing blocks: the owner of the event loop calls
`receive` when the socket is readable and `flush` when it is writable.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_pty.core.frame import Frame, FrameReader, Garbage, Kind, encoded

_CHUNK = 1 << 16
_MOST_FDS = 64
# Close-on-exec must be set as the descriptor arrives: a fork may come right after.
_FLAGS = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class ChannelClosed(ConnectionError):
    """The other side is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What arrived. The receiver owns *fds* and must close them.

    They are fewer than were sent if the receiver has no free descriptor.
    """

    body: dict[str, Any]
    fds: tuple[int, ...] = ()


class _Outgoing:
    __slots__ = ("data", "fds", "sent")

    def __init__(self, data: bytes, fds: Sequence[int]) -> None:
        self.data = data
        self.fds = [os.dup(fd) for fd in fds]
        self.sent = 0

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds = []


class Channel:
    """One end of a connection."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._reader = FrameReader()
        self._fds: deque[int] = deque()
        self._fds_dropped = False
        self._queue: deque[_Outgoing] = deque()

    def fileno(self) -> int:
        """Return the descriptor to watch."""
        return self._socket.fileno()

    @property
    def unsent(self) -> int:
        """How many messages wait for the peer to read."""
        return len(self._queue)

    def post(self, body: dict[str, Any], fds: Sequence[int] = ()) -> bool:
        """Send as much of *body* as the peer takes; the caller keeps *fds*.

        False means that something is left: call `flush` when the socket is writable.
        """
        if fds:
            body = {**body, "fds": len(fds)}
        data = encoded(Frame(kind=Kind.EVENT, body=json.dumps(body).encode()))
        self._queue.append(_Outgoing(data, fds))
        return self.flush()

    def flush(self) -> bool:
        """Send what is queued; True when nothing is left."""
        while self._queue:
            first = self._queue[0]
            try:
                first.sent += self._send(first)
            except BlockingIOError:
                return False
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            # The descriptors were sent with the first byte and must not be sent twice.
            first.close()
            if first.sent == len(first.data):
                self._queue.popleft()
        return True

    def _send(self, first: _Outgoing) -> int:
        if not first.fds:
            return self._socket.send(first.data[first.sent :])
        rights = array.array("i", first.fds)
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]
        return self._socket.sendmsg([first.data], ancillary)

    def receive(self) -> list[Message]:
        """Return all complete messages that have arrived; raise `ChannelClosed` at the end."""
        messages: list[Message] = []
        while True:
            try:
                data = self._receive_chunk()
            except BlockingIOError:
                return messages
            except OSError as error:
                if messages:
                    return messages  # the next call reports the end
                raise ChannelClosed(str(error)) from error
            if not data:
                if messages:
                    return messages
                raise ChannelClosed("the other side closed the connection")
            messages += [self._message(frame) for frame in self._reader.feed(data)]

    def _receive_chunk(self) -> bytes:
        space = socket.CMSG_SPACE(_MOST_FDS * array.array("i").itemsize)
        data, ancillary, flags, _ = self._socket.recvmsg(_CHUNK, space, _FLAGS)
        # The kernel drops descriptors for which this process has no free number.
        self._fds_dropped = self._fds_dropped or bool(flags & socket.MSG_CTRUNC)
        for level, kind, payload in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                rights = array.array("i")
                rights.frombytes(payload[: len(payload) - len(payload) % rights.itemsize])
                self._fds.extend(rights)
        return data

    def _message(self, frame: Frame) -> Message:
        try:
            body = json.loads(frame.body)
        except (ValueError, RecursionError) as error:
            raise Garbage(f"a message that is no JSON: {error}") from error
        count = body.pop("fds", 0) if isinstance(body, dict) else None
        if not isinstance(count, int):
            raise Garbage("a message that is no object with a number of descriptors")
        if count > len(self._fds) and self._fds_dropped:
            self._fds_dropped, count = False, len(self._fds)
        if count > len(self._fds):
            raise ChannelClosed(f"{count} descriptors announced, {len(self._fds)} arrived")
        return Message(body=body, fds=tuple(self._fds.popleft() for _ in range(count)))

    def close(self) -> None:
        """Close the socket and the descriptors that were not yet sent or not yet delivered."""
        for outgoing in self._queue:
            outgoing.close()
        self._queue.clear()
        while self._fds:
            with contextlib.suppress(OSError):
                os.close(self._fds.popleft())
        self._socket.close()
