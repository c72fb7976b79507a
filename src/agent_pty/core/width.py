"""How many cells a character takes on a screen."""

from __future__ import annotations

import unicodedata
from functools import lru_cache


@lru_cache(maxsize=4096)
def width(character: str) -> int:
    """Return 2 for East Asian wide, 0 for a mark that joins the character before it, else 1."""
    if "\u1160" <= character <= "\u11ff":  # the second and third part of a Korean syllable
        return 0
    if "\U0001f1e6" <= character <= "\U0001f1ff":  # half a flag
        return 2
    if character != "\u00ad" and unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def cells(text: str) -> int:
    """Return how many cells *text* takes.

    >>> cells("a\u4e2d"), cells("e\u0301")
    (3, 1)
    """
    return len(text) if text.isascii() else sum(map(width, text))
