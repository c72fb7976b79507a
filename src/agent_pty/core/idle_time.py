"""How long something may stay that nobody uses. Pure: times are given."""

from __future__ import annotations


def time_left(*, in_use: bool, last_use: float, now: float, limit: float) -> float:
    """Return after how many seconds to look again; 0 if it has not been used for *limit*.

    While it is in use, a look after *limit* is early enough: a use that ends until then is seen
    by *last_use*.
    """
    return limit if in_use else max(0.0, last_use + limit - now)
