"""When to look at the terminal's state: soon after something happened, then ever more rarely.

No event tells that a program has begun to read its keyboard, so this is the one place that looks
again by the clock; only while somebody waits for the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_FIRST = 0.02
_GROWTH = 1.6
_RAREST = 1.0


class Probe:
    """Calls *look* while wanted; what happens in between makes it look sooner."""

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look
        self._timer: asyncio.TimerHandle | None = None
        self._pause = _FIRST
        self._due = 0.0

    def soon(self) -> None:
        """Something happened: look when it has settled."""
        self._pause = _FIRST
        self._arm()

    def again(self) -> None:
        """Nothing new was seen: look later."""
        self._pause = min(_RAREST, self._pause * _GROWTH)
        self._arm()

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + self._pause
        # A timer that fires before then is left alone: in a flood each batch would make one anew.
        if self._timer is None or self._timer.when() > self._due:
            self.stop()
            self._timer = loop.call_at(self._due, self._fire)

    def _fire(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() < self._due:
            self._timer = loop.call_at(self._due, self._fire)
            return
        self._timer = None
        self._look()
