"""When to observe the foreground: when what happened has settled, then more and more rarely.

No event says that a program has begun to read its keyboard, so this is the one place that polls.
It does so only while somebody waits for the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_FIRST = 0.02
_GROWTH = 1.6
_RAREST = 1.0


class Poller:
    """Calls *observe* while wanted; what happens in between makes the next call come sooner."""

    def __init__(self, observe: Callable[[], None]) -> None:
        self._observe = observe
        self._timer: asyncio.TimerHandle | None = None
        self._pause = _FIRST
        self._wanted = 0.0
        self._due = 0.0

    def soon(self) -> None:
        """Something happened: observe when it has settled, or has gone on for long."""
        self._pause = _FIRST
        self._arm()

    def again(self) -> None:
        """Nothing new was seen: observe later."""
        self._pause = min(_RAREST, self._pause * _GROWTH)
        self._arm()

    def stop(self) -> None:
        """Stop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is None:
            self._wanted = loop.time()
        self._due = min(loop.time() + self._pause, self._wanted + _RAREST)
        # A timer that fires before then is left: in a flood each batch would make a new one.
        if self._timer is None or self._timer.when() > self._due:
            self.stop()
            self._timer = loop.call_at(self._due, self._fire)

    def _fire(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() < self._due:
            self._timer = loop.call_at(self._due, self._fire)
            return
        self._timer = None
        self._observe()
