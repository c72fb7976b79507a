"""The order of the rows of `top`. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from agent_pty.cli.top.table import WAITS, Row

_NUMBER = re.compile(r"([0-9]+)")


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts names as people count.

    >>> sorted(["s10", "s2", "S1"], key=natural)
    ['S1', 's2', 's10']
    """
    parts = _NUMBER.split(name.casefold())
    return [(0, int(one), "") if one.isascii() and one.isdigit() else (1, 0, one) for one in parts]


def _largest(value: float | None) -> tuple[bool, float]:
    """Sort a number, the largest first; what is not known comes last."""
    return value is None, -(value or 0)


def _smallest(value: float | None) -> tuple[bool, float]:
    return value is None, value or 0


SORTS: dict[str, Callable[[Row], Any]] = {
    "state": lambda row: row.doing not in WAITS,
    "name": lambda _row: 0,
    "cpu": lambda row: _largest(row.cpu_percent),
    "memory": lambda row: _largest(row.memory_bytes),
    "time": lambda row: _smallest(row.quiet_ms),
}
DEFAULT = "state"


def arranged(rows: Sequence[Row], by: str) -> list[Row]:
    """Return the rows in the order of `SORTS[by]`; those that are equal in it by name."""
    return sorted(rows, key=lambda row: (SORTS[by](row), natural(row.id)))
