"""The name that was probably meant, for a name that nobody has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# How similar two names must be, from 0 to 1; short names differ by one letter.
_SIMILAR = 0.6


def did_you_mean(given: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like *given*; None if none is.

    >>> did_you_mean("wrok", ["web", "work"]), did_you_mean("status", ["ls"])
    ('work', None)
    """
    names = sorted(known)
    begins = [name for name in names if name.startswith(given) or given.startswith(name)]
    near = difflib.get_close_matches(given, names, n=1, cutoff=_SIMILAR)
    return next(iter([*near, *begins]), None)
