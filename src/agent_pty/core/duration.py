"""Durations as people write and read them."""

from __future__ import annotations

import re

from agent_pty.errors import BadRequest

_DURATION = re.compile(r"\s*([0-9]{1,12})(ms|s|m)?\s*", re.ASCII)
_LONG_DURATION = re.compile(r"\s*([0-9]{1,6})(h|d)\s*", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_LONG_UNITS = {"h": 3600.0, "d": 86400.0}


def age(milliseconds: int) -> str:
    """Return a duration in its largest unit.

    >>> age(59_999), age(60_000), age(90_000_000)
    ('59s', '1m', '25h')
    """
    whole = milliseconds // 1000
    for unit, length, most in (("s", 1, 60), ("m", 60, 60), ("h", 3600, 48)):
        if whole // length < most:
            return f"{whole // length}{unit}"
    return f"{whole // 86400}d"


def seconds(text: str, *, what: str = "duration") -> float:
    """Return *text* in seconds: an integer with `ms`, `s` or `m`; a bare one is in seconds.

    *what* it is for is named in the error.

    >>> seconds("250ms"), seconds("2m"), seconds("30")
    (0.25, 120.0, 30.0)
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise BadRequest(f'invalid {what} "{text}": write 500ms, 30s, 5m or plain seconds')
    return int(match[1]) * _UNITS[match[2]]


def long_seconds(text: str, *, what: str = "duration") -> float:
    """Return *text* in seconds: as `seconds`, or an integer with `h` or `d`.

    >>> long_seconds("2h"), long_seconds("30d"), long_seconds("90s")
    (7200.0, 2592000.0, 90.0)
    """
    match = _LONG_DURATION.fullmatch(text)
    if match is not None:
        return int(match[1]) * _LONG_UNITS[match[2]]
    try:
        return seconds(text, what=what)
    except BadRequest:
        raise BadRequest(f'invalid {what} "{text}": write 90s, 30m, 12h or 30d') from None
