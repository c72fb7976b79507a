"""Durations as people write them: an integer with `ms`, `s` or `m`; bare means seconds."""

from __future__ import annotations

import re

from agent_pty.errors import BadRequest

_DURATION = re.compile(r"\s*([0-9]{1,12})(ms|s|m)?\s*", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}


def seconds(text: str, *, what: str = "duration") -> float:
    """Return *text* in seconds; *what* it is for is named in the error.

    >>> seconds("250ms"), seconds("2m"), seconds("30")
    (0.25, 120.0, 30.0)
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise BadRequest(f'invalid {what} "{text}": write 500ms, 30s, 5m or plain seconds')
    return int(match[1]) * _UNITS[match[2]]
