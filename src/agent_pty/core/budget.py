"""Fit text into a number of tokens, and say where the rest is.

Tokens are estimated: three bytes each, which is on the safe side for code and logs.
"""

from __future__ import annotations

from typing import Literal

_BYTES_PER_TOKEN = 3


def tokens(text: str) -> int:
    """Estimate the tokens of *text*: too many rather than too few."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def fitted(text: str, budget: int, *, keep: Literal["head", "tail"], pointer: str) -> str:
    """Return *text* if it fits, else whole lines of one end of it with a note about the rest.

    The note says how much is missing and, by *pointer*, how to get it.
    """
    if tokens(text) <= budget:
        return text
    lines = text.splitlines(keepends=True)
    rest = f"lines cut to fit {budget} tokens; {pointer}]"
    # The bracket, the largest number there can be, a blank and a line end.
    room = budget * _BYTES_PER_TOKEN - len(rest.encode()) - len(str(len(lines))) - 3
    kept = _within(lines if keep == "head" else lines[::-1], max(0, room))
    words = f"[{len(lines) - len(kept)} {rest}"
    if keep == "head":
        return "".join(kept) + words + "\n"
    return words + "\n" + "".join(kept[::-1])


def _within(lines: list[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        room -= len(line.encode("utf-8", "replace"))
        if room < 0:
            break
        kept.append(line)
    return kept
