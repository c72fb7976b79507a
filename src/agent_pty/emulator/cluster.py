"""Which character is in which cells.

A run counts its cells as a whole. The library itself is asked where each character is,
because no table of widths agrees with it on emoji, flags and joined sequences.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final, NamedTuple

from agent_pty.emulator.emulator import MAX_COLS, Emulator

# A cell may hold very many combining characters; no font shows more than a few.
_MAX_POINTS: Final = 16
# Neighbours must differ, and a colour with a shorter number takes less time to parse.
_COLORS: Final = 100
# One cell each, whatever is next to it: Latin, boxes, blocks and braille.
_NARROW: Final = re.compile(r"[ -~\u00a1-\u00ac\u00ae-\u02ff\u2500-\u259f\u2800-\u28ff]*")
_JOINERS: Final = frozenset("\u200c\u200d")
_TAGS: Final = range(0xE0020, 0xE0080)
_GRAPHEMES_ON: Final = b"\x1b[?2027h"


class Cluster(NamedTuple):
    """What one character position shows, and how many cells it takes."""

    text: str
    width: int


@lru_cache(maxsize=1024)
def clusters(text: str, width: int) -> tuple[Cluster, ...]:
    """Return the clusters of a run of *width* cells; what cannot be shown is a blank."""
    if len(text) == width and _NARROW.fullmatch(text):
        return tuple(Cluster(char, 1) for char in text)
    for mode in (b"", _GRAPHEMES_ON):
        found = _replay(text, width, mode)
        if sum(cluster.width for cluster in found) == width:
            return tuple(Cluster(visible(each.text), each.width) for each in found)
    # The program changed how characters join while it wrote this run.
    return (Cluster(visible(text), width),)


def _replay(text: str, width: int, mode: bytes) -> list[Cluster]:
    """Write *text* with a colour per code point: a cell keeps the colour of its first one."""
    emulator = Emulator(rows=1, cols=min(width + 2, MAX_COLS))
    painted = "".join(f"\x1b[38;5;{at % _COLORS}m{char}" for at, char in enumerate(_harmless(text)))
    emulator.feed(b"\x1b[?7l" + mode + painted.encode("utf-8", "replace"))
    found: list[Cluster] = []
    for run in emulator.styled()[0]:
        if run.text or not found:
            found.append(Cluster(run.text, run.width))
        else:
            # A selector that widens a character paints the second cell itself.
            found[-1] = Cluster(found[-1].text, found[-1].width + run.width)
    emulator.close()
    return found


def _harmless(text: str) -> str:
    return "".join(char for char in text if unicodedata.category(char) not in ("Cc", "Cs"))


def visible(text: str) -> str:
    """Return *text* without what is not shown: controls, direction marks, lone surrogates."""
    kept = "".join(char for char in text if _shows(char))
    return kept[:_MAX_POINTS] or " "


def _shows(char: str) -> bool:
    if char in _JOINERS or ord(char) in _TAGS:
        return True
    if char in "\ufffe\uffff":  # not allowed in XML
        return False
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
