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
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._fire)

    def _fire(self) -> None:
        self._timer = None
        self._look()
