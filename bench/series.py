"""What was measured: series of figures by contestant, and what can be said of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Unit = Literal["s", "MB", "MB/s", "%", "calls", "bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The figures of one contestant in one row, and a remark, such as "not exact"."""

    name: str
    values: Sequence[float]
    note: str = ""

    @property
    def median(self) -> float:
        """The figure in the middle."""
        return statistics.median(self.values)

    @property
    def mean(self) -> float:
        """The average: it does not jump between two humps as the median does."""
        return statistics.mean(self.values)

    def percentile(self, percent: float) -> float:
        """The smallest figure that is not below *percent* of all."""
        ordered = sorted(self.values)
        place = -(-len(ordered) * percent // 100)
        return ordered[max(0, int(place) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One row: ours first, then who did the same in the same rounds."""

    row: str
    unit: Unit
    ours: Series
    peers: Sequence[Series] = field(default_factory=tuple)
    # Lines for people, where one figure is the sum of many.
    detail: Sequence[str] = ()
    # Peers that cannot do this, or failed: unknown is not 0.
    without: Sequence[str] = ()

    def ratio(self, peer: Series) -> float | None:
        """How many times better ours is; below 1 it is worse. None if nothing can be said."""
        low, high = (self.ours, peer) if self.unit != "MB/s" else (peer, self.ours)
        return high.median / low.median if low.median else None

    def to_json(self) -> dict[str, Any]:
        """Return every figure."""
        return {
            "row": self.row,
            "unit": self.unit,
            "detail": list(self.detail),
            "without": list(self.without),
            "series": [
                {
                    "name": one.name,
                    "median": one.median,
                    "p95": one.percentile(95),
                    "p99": one.percentile(99),
                    "note": one.note,
                    "values": list(one.values),
                }
                for one in (self.ours, *self.peers)
            ],
        }
