"""The line that keys make, as the line editor of a shell keeps it (readline's usual keys). Pure.

What the editor takes from elsewhere, a completion or its history, is not known here: the line is
opaque from then on, until it is submitted or thrown away.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agent_pty.core.policy.keystroke import Keystrokes

GIVE_UP = "\x03"
_WORD_BEFORE = re.compile(r"\S+\s*$")


@dataclass(frozen=True, slots=True)
class Submitted:
    """A line that Enter gave to the program; *opaque*: a part of it is not known."""

    text: str
    opaque: bool


@dataclass(slots=True)
class InputLine:
    """One line while it is typed."""

    text: str = ""
    at: int = 0
    opaque: bool = False
    keystrokes: Keystrokes = field(default_factory=Keystrokes)
    killed: str = ""

    def copy(self) -> InputLine:
        """Return another one in the same state."""
        return replace(self, keystrokes=self.keystrokes.copy())

    def feed(self, keys: str) -> list[Submitted | None]:
        """Take keys; return the lines that they submit, and None where one is given up."""
        submitted: list[Submitted | None] = []
        for one in self.keystrokes.feed(keys):
            if one.typed == GIVE_UP and one.kind == "edit":
                submitted.append(None)
            if one.kind == "run":
                submitted.append(Submitted(self.text, self.opaque))
                self.clear()
            elif one.kind == "text":
                self.insert(one.text)
            elif one.typed in _KEYS:
                _KEYS[one.typed](self)
            else:
                self.opaque = True
        return submitted

    # -- what keys do

    def insert(self, text: str) -> None:
        """Write at the cursor."""
        self.text = self.text[: self.at] + text + self.text[self.at :]
        self.at += len(text)

    def clear(self) -> None:
        """Throw the line away."""
        self.text, self.at, self.opaque = "", 0, False

    def forget_opaque(self) -> None:
        """Take the line as it is known: what is not known is not ours to judge."""
        self.opaque = False

    def move(self, to: int) -> None:
        """Put the cursor somewhere."""
        self.at = max(0, min(len(self.text), to))

    def delete(self, start: int, end: int) -> str:
        """Take a part out, and return it."""
        start, end = max(0, start), min(len(self.text), end)
        gone = self.text[start:end]
        self.text = self.text[:start] + self.text[end:]
        self.at = start
        return gone

    def kill(self, start: int, end: int) -> None:
        """Take a part out that can be yanked."""
        self.killed = self.delete(start, end)

    def yank(self) -> None:
        """Write again what was killed last."""
        self.insert(self.killed)

    def transpose(self) -> None:
        """Exchange the two characters at the cursor."""
        at = min(self.at, len(self.text) - 1)
        if at > 0:
            pair = self.text[at] + self.text[at - 1]
            self.text = self.text[: at - 1] + pair + self.text[at + 1 :]
            self.at = at + 1

    @property
    def word_start(self) -> int:
        """Where the word before the cursor begins, with everything but blanks."""
        found = _WORD_BEFORE.search(self.text[: self.at])
        return found.start() if found else 0

    @property
    def part_start(self) -> int:
        """Where the letters before the cursor begin."""
        return len(re.sub(r"\w+\W*$", "", self.text[: self.at]))

    @property
    def part_end(self) -> int:
        """Where the letters after the cursor end."""
        found = re.match(r"\W*\w+", self.text[self.at :])
        return self.at + (found.end() if found else len(self.text) - self.at)


_Press = Callable[[InputLine], object]
_HOME: _Press = lambda one: one.move(0)  # noqa: E731  a row of the table below, under its name
_END: _Press = lambda one: one.move(len(one.text))  # noqa: E731
_LEFT: _Press = lambda one: one.move(one.at - 1)  # noqa: E731
_RIGHT: _Press = lambda one: one.move(one.at + 1)  # noqa: E731
_DELETE: _Press = lambda one: one.delete(one.at, one.at + 1)  # noqa: E731
_BACKSPACE: _Press = lambda one: one.delete(one.at - 1, one.at) if one.at else ""  # noqa: E731
_NOTHING: _Press = lambda _one: None  # noqa: E731
_KEYS: dict[str, _Press] = {
    "\x01": _HOME,
    "\x02": _LEFT,
    GIVE_UP: InputLine.clear,
    "\x04": _DELETE,
    "\x05": _END,
    "\x06": _RIGHT,
    "\x07": _NOTHING,
    "\x08": _BACKSPACE,
    "\x0b": lambda one: one.kill(one.at, len(one.text)),
    "\x0c": _NOTHING,
    "\x14": InputLine.transpose,
    "\x15": lambda one: one.kill(0, one.at),
    "\x16": _NOTHING,
    "\x17": lambda one: one.kill(one.word_start, one.at),
    "\x19": InputLine.yank,
    "\x7f": _BACKSPACE,
    **dict.fromkeys(("\x1b[C", "\x1bOC"), _RIGHT),
    **dict.fromkeys(("\x1b[D", "\x1bOD"), _LEFT),
    **dict.fromkeys(("\x1b[H", "\x1b[1~", "\x1bOH"), _HOME),
    **dict.fromkeys(("\x1b[F", "\x1b[4~", "\x1bOF"), _END),
    "\x1b[3~": _DELETE,
    "\x1bb": lambda one: one.move(one.part_start),
    "\x1bf": lambda one: one.move(one.part_end),
    "\x1bd": lambda one: one.kill(one.at, one.part_end),
    **dict.fromkeys(("\x1b\x7f", "\x1b\x08"), lambda one: one.kill(one.part_start, one.at)),
}
