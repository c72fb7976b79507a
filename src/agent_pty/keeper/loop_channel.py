"""A channel that an event loop reads and writes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Any

from agent_pty.core.frame import Garbage
from agent_pty.keeper.channel import Channel, ChannelClosed, Message


class LoopChannel:
    """Gives *receive* each message; *lost* is called if the other side goes, not after `close`."""

    def __init__(
        self, sock: socket.socket, *, receive: Callable[[Message], None], lost: Callable[[], None]
    ) -> None:
        self._channel = Channel(sock)
        self._receive = receive
        self._lost = lost
        self._closed = False
        asyncio.get_running_loop().add_reader(sock.fileno(), self._readable)

    def post(self, body: dict[str, Any], fds: Sequence[int] = ()) -> None:
        """Send a message, what does not fit later; raise `ChannelClosed` if nobody takes it."""
        if not self._channel.post(body, fds):
            asyncio.get_running_loop().add_writer(self._channel.fileno(), self._writable)

    def _writable(self) -> None:
        try:
            if self._channel.flush():
                asyncio.get_running_loop().remove_writer(self._channel.fileno())
        except ChannelClosed:
            self._end()

    def _readable(self) -> None:
        try:
            messages = self._channel.receive()
        except (ChannelClosed, Garbage):
            self._end()
            return
        for message in messages:
            self._receive(message)

    def _end(self) -> None:
        self.close()
        self._lost()

    def close(self) -> None:
        """Close the connection."""
        if self._closed:
            return
        self._closed = True
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._channel.fileno())
        loop.remove_writer(self._channel.fileno())
        self._channel.close()
