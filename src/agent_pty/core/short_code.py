"""The beginning of a cell's code on one line, by which a reader tells one cell from another."""

from __future__ import annotations

from typing import Final

_LONGEST: Final = 80
_CUT: Final = "..."


def shortened(code: str) -> str:
    r"""Return the first line that has text, cut to 80 characters; `...` stands for the rest.

    >>> shortened("make all")
    'make all'
    >>> shortened("for n in 1 2\ndo echo $n; done")
    'for n in 1 2 ...'
    """
    lines = code.strip().splitlines()
    # Controls would reach the terminal of a reader; a tab is only a blank here.
    text = "".join(each if each.isprintable() else " " for each in "".join(lines[:1]))
    first = " ".join(text.split())
    if len(first) > _LONGEST:
        return first[: _LONGEST - len(_CUT)] + _CUT
    return f"{first} {_CUT}" if len(lines) > 1 else first
