"""The first place where two sequences differ. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """What the two have at a *place*, counted from 1; None: one has ended before."""

    place: int
    one: Any
    other: Any


def first_difference(one: Sequence[Any], other: Sequence[Any]) -> Divergence | None:
    """Return where they differ, or None if they are the same.

    >>> first_difference("abc", "abd")
    Divergence(place=3, one='c', other='d')
    >>> first_difference("a", "ab")
    Divergence(place=2, one=None, other='b')
    """
    for place, (mine, theirs) in enumerate(zip_longest(one, other), start=1):
        if mine != theirs:
            return Divergence(place=place, one=mine, other=theirs)
    return None
