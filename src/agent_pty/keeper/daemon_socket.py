"""The daemon's listening socket, held by the keeper so that a client can wait while none runs.

Rule of this file: a client that has connected is always served. A daemon that died is followed by
another one: at once while there are sessions, else when the next client connects. After several
deaths within a minute the socket is closed, so that clients are refused instead of waiting.
"""

from __future__ import annotations

import os
import selectors
import time
from collections import deque
from collections.abc import Callable

from agent_pty import log

_MOST_FORKS = 5
_WINDOW = 60.0
# A daemon that is being restarted is followed by one that somebody else starts, within this time.
_SUCCESSOR_SECONDS = 10.0


class DaemonSocket:
    """Holds the socket; *fork* starts a daemon that inherits it."""

    def __init__(self, selector: selectors.BaseSelector, fork: Callable[[], None]) -> None:
        self._selector = selector
        self._fork = fork
        self._fd: int | None = None
        self._watched = False
        self._forks: deque[float] = deque(maxlen=_MOST_FORKS)
        self._deadline: float | None = None

    @property
    def fd(self) -> int | None:
        """The descriptor, None if no daemon has given one."""
        return self._fd

    @property
    def patience(self) -> float | None:
        """How many seconds the loop may sleep; None if nothing is expected."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def hold(self, fd: int) -> None:
        """Keep a duplicate of the socket of the daemon that runs now."""
        self.close()
        self._fd = os.dup(fd)

    def daemon_runs(self) -> None:
        """A daemon accepts the clients from now on."""
        self._deadline = None
        self._watch(on=False)

    def expect_successor(self) -> None:
        """The daemon ends in order that another one can follow, which somebody else starts."""
        if self._fd is not None:
            self._deadline = time.monotonic() + _SUCCESSOR_SECONDS

    def daemon_gone(self, *, sessions: bool) -> None:
        """Start another daemon: now, or when a client wants one."""
        if self._fd is None or self._deadline is not None:
            return
        if sessions:
            self._start()
        else:
            self._watch(on=True)

    def start_late(self) -> None:
        """Start a daemon if the expected one did not come."""
        if self._deadline is not None and self._deadline <= time.monotonic():
            self._deadline = None
            self._start()

    def _client_waits(self, _events: int) -> None:
        self._watch(on=False)
        self._start()

    def _start(self) -> None:
        if self._fd is None:
            return
        now = time.monotonic()
        if len(self._forks) == _MOST_FORKS and self._forks[0] > now - _WINDOW:
            log.line(f"keeper: {_MOST_FORKS} daemons died within {_WINDOW:g} s")
            self.close()
            return
        self._forks.append(now)
        self._fork()

    def _watch(self, *, on: bool) -> None:
        if on == self._watched or self._fd is None:
            return
        self._watched = on
        if on:
            self._selector.register(self._fd, selectors.EVENT_READ, self._client_waits)
        else:
            self._selector.unregister(self._fd)

    def close(self) -> None:
        """Let go of the socket: without a daemon, clients are refused."""
        self.daemon_runs()
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
