"""Sizes of files as people write and read them."""

from __future__ import annotations

import re

from agent_pty.errors import BadRequest

_SIZE = re.compile(r"\s*([0-9]{1,12})\s*(|B|kB|KB|MB|GB|TB)\s*", re.ASCII)
_UNITS = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_STEP = 1000
_SHOWN = ("bytes", "kB", "MB", "GB", "TB")


def size_in_bytes(text: str, *, what: str = "size") -> int:
    """Return *text* in bytes: an integer, or one with `kB`, `MB`, `GB` or `TB`.

    >>> size_in_bytes("5GB"), size_in_bytes("100")
    (5000000000, 100)
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise BadRequest(f'invalid {what} "{text}": write 500MB, 5GB or plain bytes')
    return int(match[1]) * _UNITS[match[2]]


def shown_size(count: int) -> str:
    """Return a size in the largest unit of which there is one.

    >>> shown_size(999), shown_size(1000), shown_size(5_250_000_000)
    ('999 bytes', '1.0 kB', '5.2 GB')
    """
    value, unit = float(count), 0
    while value >= _STEP and unit < len(_SHOWN) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{count} bytes" if unit == 0 else f"{value:.1f} {_SHOWN[unit]}"
