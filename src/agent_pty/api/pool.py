"""Connections that are open and idle; safe to use from several threads."""

from __future__ import annotations

import os
import select
from collections import deque
from typing import Generic, Protocol, TypeVar


class _Open(Protocol):
    def fileno(self) -> int:
        """Return the descriptor of the socket."""

    def close(self) -> None:
        """Hang up."""


Wire = TypeVar("Wire", bound=_Open)


class Pool(Generic[Wire]):
    """Idle connections: take one, use it alone, and give it back after a whole answer.

    Every operation of the queue is atomic, so no lock is needed. A process that was forked has
    none of its parent's connections: two processes on one would read each other's answers.
    """

    def __init__(self) -> None:
        self._idle: deque[Wire] = deque()
        self._process = os.getpid()
        self._closed = False

    def take(self) -> Wire | None:
        """Return an idle connection; None if there is none."""
        if self._process != os.getpid():
            self._idle, self._process = deque(), os.getpid()
        while True:
            try:
                wire = self._idle.pop()
            except IndexError:
                return None
            if not hung_up(wire.fileno()):
                return wire
            wire.close()

    def give(self, wire: Wire) -> None:
        """Keep a connection for the next request."""
        self._idle.append(wire)
        if self._closed:
            self.close()

    def close(self) -> None:
        """Hang up; connections that are in use are closed when they are given back."""
        self._closed = True
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return


def hung_up(fd: int) -> bool:
    """Whether the other side of an idle connection has closed it, or says what nobody asked for."""
    if fd < 0:
        return True
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))
