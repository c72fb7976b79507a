"""What of a line is text: without escape sequences and characters that take no room.

A secret may be coloured, or split by a character that nobody sees. So patterns look at the text
alone, and what they find is mapped back to the bytes as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent_pty.core.redaction.pattern import compiled

# Zero-width characters, bidi controls, soft hyphen, byte order mark, variation selectors, tags.
_UNSEEN = (
    r"\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xc2\xad|\xef\xbb\xbf|\xe1\xa0\x8e"
    r"|\xcd\x8f|\xef\xb8[\x80-\x8f]|\xf3\xa0[\x80-\x87][\x80-\xbf]"
)
_CSI = r"(?:\x1b\[|\xc2\x9b)[0-?]*[ -/]*[@-~]"
# Strings that a terminal takes without showing them: titles, links, the clipboard.
_STRING = r"(?:\x1b[\]PX^_]|\xc2[\x90\x98\x9d-\x9f])[^\x07\x1b]*(?:\x07|\x1b\\|\xc2\x9c)"
_OTHER = r"\x1b[ -/]*[0-Z\\^-~]"
_NOISE = re.compile(
    f"(?s:{_STRING}|{_CSI}|{_OTHER}|{_UNSEEN}|[\\x00-\\x07\\x0e-\\x1a\\x7f])".encode("latin-1")
)
# Text that everybody sees: nothing of it has to be left out.
_ORDINARY = bytes({*range(0x20, 0x7F), *b"\t\n\r"})
_COLOURS = re.compile(rb"\x1b\[[0-9;:]*m")
_STRINGS = re.compile(f"(?s:{_STRING})".encode("latin-1"))
# What follows an escape character and belongs to it.
_AFTER_ESCAPE = re.compile(rb"(?s:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07]*(?:\x07|$)|[ -/]*[0-Z\\^-~])")
_UNSEEN_BYTES = compiled(f"{_UNSEEN}|\\xc2[\\x90-\\x9f]|[\\x00-\\x07\\x0e-\\x1a\\x7f]")
# Whether there is anything to leave out: one look decides it for most lines.
_ANY = compiled(r"[\x00-\x07\x0e-\x1f\x7f]|\xe2[\x80\x81]|\xc2|\xef|\xe1\xa0|\xcd\x8f|\xf3\xa0")


@dataclass(frozen=True, slots=True)
class Visible:
    """The text of a line, and where its pieces stand in the line: (in the text, in the line)."""

    text: bytes
    pieces: tuple[tuple[int, int], ...]

    def ranges(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the line that hold this part of the text."""
        for number, (shown, placed) in enumerate(self.pieces):
            following = self.pieces[number + 1 :]
            until = following[0][0] if following else len(self.text)
            low, high = max(start, shown), min(end, until)
            if low < high:
                yield placed + low - shown, placed + high - shown


def visible(line: bytes) -> Visible:
    """Return what a reader sees of a line."""
    if not _ANY.search(line):
        return Visible(line, ((0, 0),))
    pieces: list[tuple[int, int]] = []
    text: list[bytes] = []
    length = position = 0
    for noise in _NOISE.finditer(line):
        start, end = noise.span()
        if start > position:
            pieces.append((length, position))
            text.append(line[position:start])
            length += start - position
        position = end
    if position < len(line):
        pieces.append((length, position))
        text.append(line[position:])
    return Visible(b"".join(text), tuple(pieces))


def without_noise(data: bytes) -> bytes:
    """Return text without what nobody sees, for a quick look at many lines at once.

    Where there are many escapes, cutting at each is ten times as fast as replacing them; of
    colours, which most of them are, the expression itself cuts.
    """
    if not data.translate(None, _ORDINARY):
        return data
    if b"\x1b" in data:
        data = b"".join(_COLOURS.split(data))
    if b"\x1b" in data:
        first, *others = data.split(b"\x1b")
        kept = [first]
        for piece in others:
            found = _AFTER_ESCAPE.match(piece)
            kept.append(piece[found.end() :] if found else piece)
        data = b"".join(kept)
    return _NOISE.sub(b"", data) if _UNSEEN_BYTES.search(data) else data


def unseen_strings(line: bytes) -> Iterator[tuple[int, int]]:
    """Yield the ranges of strings that a terminal takes without showing them."""
    if b"\x1b" in line or b"\xc2" in line:
        for found in _STRINGS.finditer(line):
            yield found.span()
