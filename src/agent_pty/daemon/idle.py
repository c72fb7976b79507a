"""A daemon that started itself ends when nobody has used it for a while.

Used means that there is a session, running or exited, or a client that is connected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from agent_pty import log
from agent_pty.core.duration import seconds
from agent_pty.errors import BadRequest

_VARIABLE = "AGENT_PTY_IDLE"
_DEFAULT = "10m"


def limit(env: Mapping[str, str]) -> float | None:
    """Return for how many seconds a daemon stays that nobody uses; None: for ever."""
    try:
        return seconds(env.get(_VARIABLE) or _DEFAULT, what=_VARIABLE) or None
    except BadRequest as error:
        log.line(f"daemon: {error}; {_DEFAULT} is used")
        return seconds(_DEFAULT)


def time_left(*, in_use: bool, last_use: float, now: float, limit: float) -> float:
    """Return after how many seconds to look again; 0 if the daemon should end.

    While it is in use, a look after *limit* is early enough: a use that ends until then is seen
    by *last_use*.
    """
    return limit if in_use else max(0.0, last_use + limit - now)


class IdleTimer:
    """Calls *end* once nobody has used the daemon for *limit* seconds. Close it afterwards."""

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
