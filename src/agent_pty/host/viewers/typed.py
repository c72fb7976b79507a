"""How much each attached person has typed, kept for a while after their connection is gone.

A person whose daemon died attaches again. The number says which of their keys arrived.
"""

from __future__ import annotations

from collections import OrderedDict

_MOST_VIEWERS = 64


class TypedCounts:
    """Bytes by viewer; the one that typed least recently is forgotten first."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()

    def of(self, viewer: str | None) -> int:
        """Return how many bytes of this viewer's were given to the program."""
        return self._counts.get(viewer or "", 0)

    def add(self, viewer: str | None, count: int) -> None:
        """Note that bytes of this viewer's were given to the program."""
        if viewer is None:
            return
        self._counts[viewer] = self.of(viewer) + count
        self._counts.move_to_end(viewer)
        while len(self._counts) > _MOST_VIEWERS:
            self._counts.popitem(last=False)
