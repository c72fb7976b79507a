"""Which sessions share a host after their host died. Pure: time is an argument.

One session can make its host die again and again, and its neighbours with it. After the first
death all of them move to another host. After the second one within a minute they are divided
among hosts of their own, and so on with each further death, until the session that causes it is
alone. Only a session that was alone is given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WINDOW = 60.0
MOST_DEATHS = 5
# With eight parts, five deaths are enough to find one among 512 sessions.
_PARTS = 8
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """Where the sessions of a dead host go, by their instances, after *pause* seconds.

    Those *together* go to a host that they share with others. Each group *apart* gets a host that
    nobody else uses. Those *given_up* go nowhere.
    """

    pause: float
    together: Sequence[str]
    apart: Sequence[Sequence[str]]
    given_up: Sequence[str]


class HostDeaths:
    """The deaths of hosts that each session has seen."""

    def __init__(self) -> None:
        self._seen: dict[str, list[float]] = {}

    def died(self, instances: Sequence[str], *, at: float) -> Moves:
        """Note that the host of these sessions died, and decide where they go."""
        self._forget_until(at - WINDOW)
        for instance in instances:
            self._seen.setdefault(instance, []).append(at)
        counts = {instance: len(self._seen[instance]) for instance in instances}
        given_up = [one for one in instances if len(instances) == 1 and counts[one] >= MOST_DEATHS]
        suspects = [one for one in instances if counts[one] > 1 and one not in given_up]
        parts = min(len(suspects), _PARTS)
        return Moves(
            pause=_pause(max(counts.values(), default=0)),
            together=[one for one in instances if counts[one] == 1],
            apart=[suspects[number::parts] for number in range(parts)],
            given_up=given_up,
        )

    def _forget_until(self, end: float) -> None:
        recent = {one: [at for at in deaths if at > end] for one, deaths in self._seen.items()}
        self._seen = {one: deaths for one, deaths in recent.items() if deaths}


def _pause(deaths: int) -> float:
    """Return how long to wait, so that hosts which die at once do not take all the time."""
    return min(_FIRST_PAUSE * 2.0 ** (deaths - 2), _LONGEST_PAUSE) if deaths > 1 else 0.0
