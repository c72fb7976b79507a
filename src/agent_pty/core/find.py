"""Find text on a screen: answers are rows and columns, to click at or to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_pty.core.width import cells

_MOST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something is; all counted in cells from 0."""

    row: int
    col: int
    width: int
    text: str


def find(lines: Sequence[str], needle: str) -> list[Place]:
    """Return every place of *needle* in *lines*, which are the rows as displayed."""
    places: list[Place] = []
    for row, line in enumerate(lines):
        at = line.find(needle) if needle else -1
        while at >= 0 and len(places) < _MOST:
            places.append(Place(row=row, col=cells(line[:at]), width=cells(needle), text=needle))
            at = line.find(needle, at + len(needle))
    return places
