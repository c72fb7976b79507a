"""For how long a full-screen program has had the screen.

Some never read the keyboard (`watch`), others do so in ways that cannot be seen. None of them ends
by itself, so after a while they wait for a person, even if they draw all the time.
"""

from __future__ import annotations

_LONG = 2.0


class ScreenTime:
    """Fed with each observation; time is an argument."""

    def __init__(self) -> None:
        self._since: float | None = None

    def is_long(self, *, alternate: bool, now: float) -> bool:
        """Whether the alternate screen has been in use for seconds."""
        if not alternate:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= _LONG
