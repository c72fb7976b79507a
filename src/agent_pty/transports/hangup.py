"""Notice that a half-closed peer is gone for good, without polling it.

A client may send its request, close its writing side and wait for the answer. From then
on nothing more can be read, so only the hang-up itself shows that it stopped waiting.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable


class HangupWatch:
    """One epoll set for all half-closed clients; the event loop watches its descriptor."""

    def __init__(self) -> None:
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        if self._epoll is not None:
            asyncio.get_running_loop().add_reader(self._epoll.fileno(), self._ready)

    def add(self, fd: int, gone: Callable[[], None]) -> None:
        """Call *gone* when the peer of *fd* has closed both sides."""
        if self._epoll is None:  # macOS: noticed when the answer is written
            return
        self._callbacks[fd] = gone
        self._epoll.register(fd, select.EPOLLHUP | select.EPOLLERR | select.EPOLLONESHOT)

    def remove(self, fd: int) -> None:
        """Stop watching; call before *fd* is closed."""
        if self._callbacks.pop(fd, None) is not None and self._epoll is not None:
            self._epoll.unregister(fd)

    def _ready(self) -> None:
        if self._epoll is None:
            return
        for fd, _ in self._epoll.poll(0):
            gone = self._callbacks.get(fd)
            self.remove(fd)
            if gone is not None:
                gone()

    def close(self) -> None:
        """Free the descriptor."""
        if self._epoll is not None:
            asyncio.get_running_loop().remove_reader(self._epoll.fileno())
            self._epoll.close()
