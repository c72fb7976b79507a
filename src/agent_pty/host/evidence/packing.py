"""Compresses the finished segments of a recording, when there is time for that."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from agent_pty import log
from agent_pty.store import recording as files

# Segments of less are compressed at once, which takes a few milliseconds.
_SMALL = 256_000
# While segments end more often than that, the processor is needed for what is recorded.
_QUIET_SECONDS = 0.5
_LAST = 19


@cache
def _packers() -> ThreadPoolExecutor:
    """Return the one thread that compresses, for all sessions of this host.

    It must not take the processor from what is recorded, so everything else comes first.
    """

    def come_last() -> None:
        if sys.platform == "linux":  # there a thread has a priority of its own
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LAST)

    return ThreadPoolExecutor(1, "recording", initializer=come_last)


class Packing:
    """The segments of one session that are not compressed yet; *most* of them may wait.

    *packed* is told whenever one is.
    """

    def __init__(self, most: int, packed: Callable[[], None]) -> None:
        self._most = most
        self._packed = packed
        self._waiting: deque[str] = deque()
        self._running: set[asyncio.Future[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, path: str, size: int) -> None:
        """Compress a segment: a small one now, another when output pauses or too many wait."""
        if size <= _SMALL:
            _pack(path)
            return
        self._waiting.append(path)
        while len(self._waiting) > self._most:
            self._begin(self._waiting.popleft())
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(_QUIET_SECONDS, self.flush)

    def flush(self) -> None:
        """Compress everything that waits."""
        self._stop_timer()
        while self._waiting:
            self._begin(self._waiting.popleft())

    def _begin(self, path: str) -> None:
        running = asyncio.get_running_loop().run_in_executor(_packers(), _pack, path)
        self._running.add(running)
        running.add_done_callback(self._done)

    def _done(self, running: asyncio.Future[None]) -> None:
        self._running.discard(running)
        if not running.cancelled():
            self._packed()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """Leave what waits to the next host."""
        self._stop_timer()


def _pack(path: str) -> None:
    try:
        files.compress(path)
    except OSError as error:  # it stays as it is, which is as good
        log.line(f"{path} is not compressed: {error}")
