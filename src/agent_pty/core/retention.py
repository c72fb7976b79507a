"""Which past sessions are old or large enough to be removed. Pure: times and sizes are given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRecord:
    """The files of a past session; *ended* is a time of the clock on the wall."""

    instance: str
    ended: float
    size: int

    @property
    def place(self) -> str:
        """Its place in the order of age, which stays the same when others are removed."""
        return f"{max(0.0, self.ended):018.6f} {self.instance}"


def due(
    records: Iterable[PastRecord],
    *,
    now: float,
    older_than: float | None,
    larger_than: int | None,
    kept_size: int = 0,
) -> list[PastRecord]:
    """Return the records that are due, oldest first.

    One is due if it ended more than *older_than* seconds ago, or if it does not fit into
    *larger_than* bytes together with everything newer and with what is never removed
    (*kept_size*). So an old record that cannot be removed never costs a newer one its place.

    >>> old, new = (PastRecord(instance=one, ended=at, size=6) for one, at in (("a", 1), ("b", 2)))
    >>> [one.instance for one in due([new, old], now=9, older_than=None, larger_than=10)]
    ['a']
    """
    found, total = [], kept_size
    for one in sorted(records, key=lambda one: one.place, reverse=True):
        total += one.size
        old = older_than is not None and now - one.ended > older_than
        large = larger_than is not None and total > larger_than
        if old or large:
            found.append(one)
    return found[::-1]
