"""Events as they happen, one after the other."""

from __future__ import annotations

import select
import socket
import time
from typing import TYPE_CHECKING, Any, Self

from agent_pty.api.following import Following
from agent_pty.errors import DaemonUnreachable

if TYPE_CHECKING:
    from agent_pty.api.client import Client
    from agent_pty.api.results import Event
    from agent_pty.client.connection import Connection

_CHUNK = 1 << 16


class Watching:
    r"""Iterate over it; no event is missed from the moment it exists. It ends when it is closed.

    >>> session = client.session("work")
    >>> with session.watch(events=["title"]) as events:
    ...     _ = session.send(r"printf '\033]0;at work\007'")
    ...     next(events).facts["title"]
    'at work'
    """

    def __init__(self, client: Client, fields: dict[str, Any]) -> None:
        self._client = client
        self._following = Following(fields)
        self._received = bytearray()
        self._connection: Connection | None = None
        self._stream = self._open(first=True)

    def _open(self, *, first: bool) -> socket.socket:
        self._received.clear()
        self._connection = self._client.connect(start=first)
        try:
            return self._connection.stream("watch", **self._following.fields)[0]
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        found = self.next() if self._connection is not None else None
        if found is None:
            raise StopIteration
        return found

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def next(self, timeout: float | None = None) -> Event | None:
        """Return the next event; None if it does not come within *timeout* seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._received:
            if not self._readable(deadline):
                return None
            data = self._receive()
            self._received += data
            if not data and (missed := self._again()) is not None:
                return missed
        line, _, rest = self._received.partition(b"\n")
        self._received = rest
        return self._following.feed(bytes(line))

    def _readable(self, deadline: float | None) -> bool:
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        poll = select.poll()
        poll.register(self._stream, select.POLLIN)
        return bool(poll.poll(left))

    def _receive(self) -> bytes:
        try:
            return self._stream.recv(_CHUNK)
        except ConnectionError:  # a daemon that is killed resets it
            return b""

    def _again(self) -> Event | None:
        """Open the stream of the next daemon."""
        self.close()
        missed = self._following.lost()
        try:
            self._stream = self._open(first=False)
        except (DaemonUnreachable, ConnectionError) as error:
            raise self._following.gave_up() from error
        return missed
