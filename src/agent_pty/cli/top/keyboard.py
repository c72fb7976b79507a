"""What a person typed: bytes in, names of keys out. Pure."""

from __future__ import annotations

import codecs
import re

# In this order: an escape sequence, an escape that may still become one, any other character.
_KEY = re.compile(
    r"(?P<sequence>\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~]|[^\[O\x1b]))"
    r"|(?P<begun>\x1b(?:\[[0-?]*[ -/]*|O)?\Z)"
    r"|(?P<character>.)",
    re.DOTALL,
)
# Cursor keys come with `[` or, in application mode, with `O`.
_FINALS = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "M": "enter"}
_NUMBERS = {"1": "home", "4": "end", "5": "page-up", "6": "page-down", "7": "home", "8": "end"}
_CHARACTERS = {
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\b": "backspace",
    "\t": "tab",
    "\x1b": "escape",
    " ": "space",
}
_FIRST_PRINTABLE = " "


class Keyboard:
    """Splits input into keys; a key's bytes may arrive in pieces.

    While *unfinished*, an escape may be a key of its own or the beginning of another one:
    if nothing follows soon, call `finish`.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""

    @property
    def unfinished(self) -> bool:
        """Whether an escape waits for what follows it."""
        return bool(self._begun)

    def feed(self, data: bytes) -> list[str]:
        """Return the keys that *data* completes; unknown sequences are left out."""
        text, self._begun = self._begun + self._decoder.decode(data), ""
        keys = []
        for found in _KEY.finditer(text):
            self._begun = found["begun"] or ""
            if found["sequence"]:
                keys.append(_named(found["sequence"]))
            elif found["character"]:
                keys.append(_plain(found["character"]))
        return [key for key in keys if key]

    def finish(self) -> list[str]:
        """Return the key for a lone escape that nothing follows."""
        begun, self._begun = self._begun, ""
        return ["escape"] if begun == "\x1b" else []


def _named(sequence: str) -> str:
    kind, parameters, final = sequence[1], sequence[2:-1], sequence[-1]
    if kind not in "[O":
        return ""
    if final == "~":
        return _NUMBERS.get(parameters, "")
    return _FINALS.get(final, "")


def _plain(character: str) -> str:
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    if character < _FIRST_PRINTABLE:
        return f"ctrl-{chr(ord(character) + 0x60)}"
    return character if character.isprintable() else ""
