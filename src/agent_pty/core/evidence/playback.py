"""A recording as one timeline that can be played: pure, time is an argument.

Quiet times are shortened to the idle limit, and everything is as fast as was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that happened *at* so many seconds after the beginning.

    Codes are those of asciicast: `o` output, `r` a resize, `m` a marker, `i` input, `x` the end.
    """

    at: float
    code: str
    text: str


def shortened(moments: Iterator[Moment], idle_limit: float | None) -> Iterator[Moment]:
    """Let no two moments be further apart than the limit.

    >>> [one.at for one in shortened(iter([Moment(at=9.0, code="o", text="")]), 2.0)]
    [2.0]
    """
    now = before = 0.0
    for one in moments:
        passed = one.at - before
        now += passed if idle_limit is None else min(passed, idle_limit)
        before = one.at
        yield replace(one, at=now)


class Player:
    """Says what is due; *begin* returns the moments from the beginning, as often as it is called.

    Call `due` at each `deadline`.
    """

    def __init__(self, begin: Callable[[], Iterator[Moment]], *, speed: float, now: float) -> None:
        self._begin = begin
        self._moments = begin()
        self._next = next(self._moments, None)
        self._speed = speed
        self._position = 0.0
        self._seen_at = now
        self._paused = False

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self._next is None

    @property
    def paused(self) -> bool:
        """Whether time stands still."""
        return self._paused

    @property
    def deadline(self) -> float | None:
        """When something is due; None: not before somebody does something."""
        if self._next is None or self._paused:
            return None
        return self._seen_at + max(0.0, self._next.at - self._position) / self._speed

    def due(self, now: float) -> list[Moment]:
        """Return what is to be shown by now."""
        self._pass_time(now)
        found: list[Moment] = []
        while self._next is not None and self._next.at <= self._position:
            found.append(self._next)
            self._next = next(self._moments, None)
        return found

    def _pass_time(self, now: float) -> None:
        if not self._paused:
            self._position += (now - self._seen_at) * self._speed
        self._seen_at = now

    def pause(self, now: float) -> None:
        """Stop, or go on."""
        self._pass_time(now)
        self._paused = not self._paused

    def change_speed(self, factor: float, now: float) -> None:
        """Play faster or slower."""
        self._pass_time(now)
        self._speed *= factor

    def seek(self, seconds: float, now: float) -> bool:
        """Go forwards or back; True: back, so everything must be shown from the beginning."""
        self._pass_time(now)
        self._position = max(0.0, self._position + seconds)
        if seconds >= 0:
            return False
        self._moments = self._begin()
        self._next = next(self._moments, None)
        return True
