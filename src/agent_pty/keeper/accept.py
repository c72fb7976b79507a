"""Accept connections in an event loop, and go on when there is no descriptor for another one.

asyncio's own server logs every failed attempt with a traceback and plans a new attempt for each of
them: without a free descriptor its log grows by megabytes per second.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable

from agent_pty import log

# One burst of connections keeps the other work waiting no longer than this many.
_MOST_AT_ONCE = 512
_RETRY_SECONDS = 1.0
_SAY_AGAIN_SECONDS = 60.0


class Acceptor:
    """Gives each connection at *listener* a protocol; *process* is its name in the log."""

    def __init__(
        self, listener: socket.socket, protocol: Callable[[], asyncio.Protocol], *, process: str
    ) -> None:
        self._listener = listener
        self._protocol = protocol
        self._process = process
        self._tasks: set[asyncio.Task[object]] = set()
        self._retry: asyncio.TimerHandle | None = None
        self._said: float | None = None

    def start(self) -> None:
        """Begin to accept."""
        self._retry = None
        self._listener.setblocking(False)
        asyncio.get_running_loop().add_reader(self._listener, self._ready)

    def _ready(self) -> None:
        for _ in range(_MOST_AT_ONCE):
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            self._serve(sock)

    def _serve(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        task: asyncio.Task[object] = loop.create_task(
            loop.connect_accepted_socket(self._protocol, sock)
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _pause(self, error: OSError) -> None:
        """Leave those who connect in the kernel's queue for a moment."""
        self._stop()
        self._retry = asyncio.get_running_loop().call_later(_RETRY_SECONDS, self.start)
        now = time.monotonic()
        if self._said is None or now - self._said > _SAY_AGAIN_SECONDS:
            self._said = now
            log.line(
                f"{self._process}: cannot accept connections: {error.strerror}; "
                "new clients wait until that is over"
            )

    def _stop(self) -> None:
        asyncio.get_running_loop().remove_reader(self._listener)
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def close(self) -> None:
        """Accept nothing more and close the listener."""
        if self._listener.fileno() >= 0:
            self._stop()
            self._listener.close()
