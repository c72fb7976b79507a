"""A timer that ends what nobody uses: a session here, the daemon there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent_pty.core.idle_time import time_left


class IdleTimer:
    """Calls *end* once nobody has used something for *limit* seconds. Close it afterwards.

    Time is that of the event loop, which stands still while the machine sleeps.
    """

    def __init__(
        self,
        limit: float,
        *,
        in_use: Callable[[], bool],
        last_use: Callable[[], float],
        end: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = limit
        self._in_use = in_use
        self._last_use = last_use
        self._end = end
        self._timer = self._loop.call_later(limit, self._look)

    def _look(self) -> None:
        left = time_left(
            in_use=self._in_use(),
            last_use=self._last_use(),
            now=self._loop.time(),
            limit=self._limit,
        )
        if left:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self._end()

    def close(self) -> None:
        """Call nothing any more."""
        self._timer.cancel()
