"""Keys as a line editor takes them: text, editing keys, and keys that run the line. Pure."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import Literal

_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z]|[^\[O])", re.DOTALL)
_CONTROLS = frozenset(map(chr, (*range(0x20), 0x7F)))
_PLAIN = re.compile(r"[^\x00-\x1f\x7f]+")
_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_QUOTE = "\x16"
# Enter; Ctrl-O, which runs the line and recalls the next one; Alt-A, which runs it and keeps it;
# Escape and Enter, which in vi mode are two keys.
_RUNS_LINE = frozenset({"\r", "\n", "\x0f", "\x1ba", "\x1bA", "\x1b\r", "\x1b\n", "\x1b\x0f"})

Kind = Literal["text", "edit", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keystroke:
    """One step: *text* that is inserted, or a key, with the characters that were *typed* for it."""

    kind: Kind
    typed: str
    text: str = ""


@dataclass(slots=True)
class Keystrokes:
    """Cuts what is typed into keys; it may be split anywhere."""

    pasting: bool = False
    quoting: bool = False
    # The beginning of a sequence that has not ended; it was typed already.
    begun: str = ""

    @property
    def open(self) -> bool:
        """Whether a paste or a quoted key has begun and not ended."""
        return self.pasting or self.quoting

    def copy(self) -> Keystrokes:
        """Return another one in the same state."""
        return replace(self)

    def feed(self, typed: str) -> list[Keystroke]:
        """Return the keys that are complete; text that is typed at once is one of them."""
        typed, self.begun = self.begun + typed, ""
        found: list[Keystroke] = []
        place = 0
        while place < len(typed):
            step = self._run(typed, place) or self._length(typed, place)
            if step == 0:
                self.begun = typed[place:]
                break
            found.append(self._key(typed[place : place + step]))
            place += step
        return _joined(found)

    def _run(self, typed: str, place: int) -> int:
        """Return the length of plain text at a place: a megabyte of it is one keystroke."""
        if self.quoting:
            return 0
        found = _PLAIN.match(typed, place)
        return 0 if found is None else len(found.group())

    def _length(self, typed: str, place: int) -> int:
        """Return how many characters one key has; 0: its end has not come."""
        if typed[place] != "\x1b" or self.quoting:
            return 1
        found = _SEQUENCE.match(typed, place)
        return 0 if found is None else len(found.group())

    def _key(self, key: str) -> Keystroke:
        if key in (_PASTE_BEGINS, _PASTE_ENDS):
            self.pasting = key == _PASTE_BEGINS
            return Keystroke(kind="text", typed=key)
        quoted, self.quoting = self.quoting, key == _QUOTE and not self.quoting
        if self.pasting:
            self.quoting = False
            return Keystroke(kind="text", typed=key, text=key.replace("\r", "\n"))
        if quoted or key[0] not in _CONTROLS:
            return Keystroke(kind="text", typed=key, text=key)
        return Keystroke(kind="run" if key in _RUNS_LINE else "edit", typed=key)


def _joined(keys: list[Keystroke]) -> list[Keystroke]:
    """Make one keystroke of text that was typed at once."""
    joined: list[Keystroke] = []
    for is_text, group in itertools.groupby(keys, key=lambda one: one.kind == "text"):
        if not is_text:
            joined += group
            continue
        pieces = list(group)
        typed = "".join(one.typed for one in pieces)
        joined.append(Keystroke(kind="text", typed=typed, text="".join(one.text for one in pieces)))
    return joined
