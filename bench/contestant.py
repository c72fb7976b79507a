"""What a contestant can do: the border between rows and the things they measure.

A row asks only for what it needs; a contestant that cannot do it is left out of that row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

# One measurement, in seconds. What must be set up or cleared away is not in it.
Measure = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Poured:
    """A large output: when its end was seen, when all of it was in hand, and whether exactly."""

    seen: float
    whole: float | None
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """One way to do it."""

    name: str
    timed: Mapping[str, Measure] = field(default_factory=dict)
    # Shows the file of this path in a shell and sees the end of it.
    pour: Callable[[str], Poured] | None = None
    # The same by a cell of `k`.
    k_pour: Callable[[str], Poured] | None = None
    # Runs this shell command until it says "up", ends the session, says how long that took.
    fell: Callable[[str], float] | None = None
    # The size in bytes of what a model is sent of its tools.
    schema: Callable[[], int] | None = None
