"""The history of a session as lines: what was written, and what happened to cells in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import UNSET, UnsetType


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the history.

    *kind* is `text`, or says what happened: then *text* is the id of a cell, or a note's message.
    *exit_code* is that of a command that failed.
    """

    kind: str
    text: str
    who: str = ""
    exit_code: int | UnsetType = UNSET


def told(text: str, start: int, events: Sequence[tuple[int, Entry]]) -> list[Entry]:
    """Return the lines of *text*, which begins at place *start*, with *events* at their places."""
    due = [event for event in events if event[0] >= start]
    entries: list[Entry] = []
    place = start
    for line in text.split("\n"):
        while due and due[0][0] <= place:
            entries.append(due.pop(0)[1])
        entries.append(Entry(kind="text", text=line))
        place += len(line.encode()) + 1
    return entries + [entry for _, entry in due]
