"""When an attachment ends by itself: at a deadline, or when what was piped in has had its effect.

Time is an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

# Output has settled after so many seconds without any, if the program is not busy, and after
# the longer time in any case.
_QUIET = 0.5
_QUIET_AND_BUSY = 5.0


class Left(Enum):
    """Why an attachment ended."""

    DETACHED = "detached"
    INPUT_ENDED = "input ended"
    ENDED = "ended"
    TIMED_OUT = "timed out"


class Deadline:
    """Ends an attachment at a moment, whatever happens before."""

    reason = Left.TIMED_OUT

    def __init__(self, at: float) -> None:
        self._at = at

    def wait(self, now: float) -> float | None:
        """Return for how many seconds nothing can end the attachment but an event."""
        return max(0.0, self._at - now)

    def has_come(self, now: float) -> bool:
        """Whether the attachment ends now."""
        return now >= self._at

    def input_ended(self, now: float) -> None:
        """Note that nothing more is typed: no reason to leave early."""

    def output_came(self, now: float) -> None:
        """Note output: no reason to stay longer."""


class Settling:
    """Ends an attachment when its input has ended and the output has settled after that."""

    reason = Left.INPUT_ENDED

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        self._quiet_since: float | None = None
        self._look_at = 0.0

    def wait(self, now: float) -> float | None:
        """Return for how many seconds nothing can end the attachment but an event."""
        return None if self._quiet_since is None else max(0.0, self._look_at - now)

    def has_come(self, now: float) -> bool:
        """Whether the attachment ends now; asks whether the program is busy if that matters."""
        if self._quiet_since is None or now < self._look_at:
            return False
        if now - self._quiet_since >= _QUIET_AND_BUSY:
            return True
        self._look_at = now + _QUIET
        return not self._is_busy()

    def input_ended(self, now: float) -> None:
        """Note that nothing more is typed."""
        self._quiet_since, self._look_at = now, now + _QUIET

    def output_came(self, now: float) -> None:
        """Note output: what was typed still has an effect."""
        if self._quiet_since is not None:
            self.input_ended(now)
