"""Text on a screen that a person does not see, or sees as something else.

An agent reads characters, a person sees a picture. Where the two differ, the text may be meant
for the agent without the person's knowledge.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
_JOINERS = frozenset("\u200d\ufe0f\ufe0e")
_TAGS = range(0xE0000, 0xE0080)
_MOST = 100
_LONGEST = 80


class Look(Protocol):
    """The part of a style that matters here; `emulator.Style` has it."""

    @property
    def fg(self) -> object:
        """Colour of the characters."""

    @property
    def bg(self) -> object:
        """Colour of the background."""

    @property
    def inverse(self) -> bool:
        """Whether the two are swapped."""

    @property
    def invisible(self) -> bool:
        """Whether it is concealed."""


class Stretch(Protocol):
    """A run of equally styled text; `emulator.Run` is one."""

    @property
    def col(self) -> int:
        """Where it begins."""

    @property
    def text(self) -> str:
        """Its characters."""

    @property
    def style(self) -> Look:
        """How it looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """Something hidden; *text* is escaped, so that reading it is safe."""

    row: int
    col: int
    kind: str
    text: str


def suspicions(rows: Iterable[Iterable[Stretch]]) -> list[Suspicion]:
    """Return what is hidden on a screen, at most a hundred."""
    found: list[Suspicion] = []
    for row, runs in enumerate(rows):
        for run in runs:
            for kind in _kinds(run):
                shown = run.text.strip().encode("unicode_escape").decode()[:_LONGEST]
                found.append(Suspicion(row=row, col=run.col, kind=kind, text=shown))
    return found[:_MOST]


def visible(text: str) -> str:
    """Return *text* with every character that nobody sees as its escape in JSON.

    Text that is JSON has the same value as before.
    """
    if text.isascii():
        return text
    return "".join(json.dumps(one)[1:-1] if _is_hidden(one) else one for one in text)


def _is_hidden(character: str) -> bool:
    return character in _BIDI or ord(character) in _TAGS or _unseen(character)


def _kinds(run: Stretch) -> Iterator[str]:
    if not run.text.strip():
        return
    if run.style.invisible:
        yield "concealed"
    elif run.style.fg is not None and run.style.fg == run.style.bg:
        yield "same_colour"
    if run.text.isascii():
        return
    if any(character in _BIDI for character in run.text):
        yield "bidi_control"
    if any(ord(character) in _TAGS for character in run.text):
        yield "tag_character"
    if any(map(_unseen, run.text)):
        yield "zero_width"


def _unseen(character: str) -> bool:
    if character in _BIDI or character in _JOINERS or ord(character) in _TAGS:
        return False
    return unicodedata.category(character) == "Cf"
