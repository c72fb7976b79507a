"""A length of time as a person says it."""

from __future__ import annotations

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_FEW = 2


def spoken_time(seconds: float) -> str:
    """Return a length of time in one unit, rounded down.

    >>> spoken_time(0.4), spoken_time(75), spoken_time(190), spoken_time(3 * 86400)
    ('0 s', '75 s', '3 min', '3 d')
    """
    for size, unit in _UNITS:
        if seconds >= _FEW * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
