"""Marks of the shell integration: OSC 133 with a nonce, found in the stream wherever it is split.

    ESC ] 133 ; KIND [; CODE] ; apty=NONCE [.NUMBER] BEL

KIND  B  the prompt is drawn: the program reads a command
      C  a command was read and runs now; what follows is its output
      D  it ended, with status CODE if the program knows one; what precedes was its output
      P  a continuation prompt: what was typed is not a whole command

Programs that can count number their prompts from 1: a new prompt starts with D, which carries
the new number, and B, C and P carry the number of the last D. So a mark that is shown a second
time (`cat` of a recording) is recognised by its old number. A program with a fixed prompt
(sqlite3) sends no number. Marks without our nonce are not ours and are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, cast

Kind = Literal["B", "C", "D", "P"]

_BEGIN: Final = b"\x1b]133;"
# Nonce, number and code need less than this: a longer sequence without an end is not our mark.
_LONGEST: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One mark. *code* is None where the program does not know how the command ended."""

    kind: Kind
    number: int | None
    code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedMark:
    """A mark of the shell integration, and where in the text it was.

    *line* is the unfinished line before it as it was then; later output may rewrite it.
    """

    mark: Mark
    place: int
    line: bytes


class MarkScanner:
    """Find marks in a byte stream that may be split anywhere."""

    def __init__(self, nonce: str) -> None:
        if not nonce.isalnum():
            raise ValueError("a nonce is letters and digits: without one, anybody could send marks")
        self._mark = re.compile(
            rb"\x1b\]133;([BCDP])(?:;([0-9]{0,10}))?;apty="
            + re.escape(nonce.encode())
            + rb"(?:\.([0-9]{1,15}))?(?:\x07|\x1b\\)"
        )
        self._begun = b""
        self._number = 0

    def feed(self, data: bytes) -> list[tuple[int, Mark]]:
        """Return each mark that ends in *data*, with the offset in *data* right after it."""
        if not self._begun and b"\x1b" not in data:
            return []
        carried = len(self._begun)
        text = self._begun + data
        found, after = [], 0
        for match in self._mark.finditer(text):
            after = match.end()
            mark = _mark(match)
            if self._is_current(mark):
                found.append((after - carried, mark))
        self._begun = _unfinished(text, after)
        return found

    def _is_current(self, mark: Mark) -> bool:
        if mark.number is None:
            return True
        if mark.kind != "D":
            return mark.number == self._number
        current = mark.number > self._number
        self._number = max(self._number, mark.number)
        return current

    @property
    def within(self) -> bool:
        """Whether a mark may have begun and not ended."""
        return bool(self._begun)

    @property
    def state(self) -> tuple[bytes, int]:
        """What `resume` needs to continue."""
        return self._begun, self._number

    def resume(self, state: tuple[bytes, int]) -> None:
        """Continue where another scanner stopped."""
        self._begun, self._number = state


def pieces(data: bytes, marks: list[tuple[int, Mark]]) -> Iterator[tuple[bytes, Mark | None]]:
    """Cut *data* after each mark; the last piece has no mark."""
    begin = 0
    for end, mark in marks:
        yield data[begin:end], mark
        begin = end
    if begin < len(data):
        yield data[begin:], None


def _mark(match: re.Match[bytes]) -> Mark:
    kind, code, number = match.groups()
    return Mark(
        kind=cast("Kind", kind.decode()),
        number=int(number) if number else None,
        code=int(code) if code else None,
    )


def _unfinished(text: bytes, after: int) -> bytes:
    """Return the end of *text* if a mark may have begun there."""
    start = text.rfind(b"\x1b", max(after, len(text) - _LONGEST))
    # The terminator ESC \ may itself be cut in two: then the mark began before it.
    if start >= 0 and text[start:] == b"\x1b":
        before = text.rfind(_BEGIN, max(after, len(text) - _LONGEST), start)
        start = before if before >= 0 and b"\x07" not in text[before:] else start
    if start < 0:
        return b""
    tail = text[start:]
    begun = tail[: len(_BEGIN)]
    return tail if _BEGIN.startswith(begun) and b"\x07" not in tail else b""
