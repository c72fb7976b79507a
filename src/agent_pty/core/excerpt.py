"""The two ends of a long text: 30 % of the room for its head, 70 % for its tail. Pure.

Errors and results stand at the end, what was started at the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_LINES = 2000
MOST_BYTES = 51_200
_HEAD_SHARE = 0.3
# For the note about what was left out.
_NOTE_BYTES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """What is shown of a text, and how much lies between *head* and *tail*."""

    head: str
    tail: str = ""
    omitted_lines: int = 0
    omitted_bytes: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return not self.omitted_bytes


class Excerpt:
    """Is fed a text of any length, and holds no more of it than its ends."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self._bytes = 0
        self._lines = 0

    def feed(self, text: str) -> None:
        """Take the next piece."""
        data = text.encode("utf-8", "replace")
        self._bytes += len(data)
        self._lines += data.count(b"\n")
        if len(self._head) < MOST_BYTES:
            self._head += data[: MOST_BYTES - len(self._head)]
        self._tail = (self._tail + data)[-MOST_BYTES:]

    @property
    def fits(self) -> bool:
        """Whether all of it can be shown so far."""
        return self._bytes <= MOST_BYTES and self._lines <= MOST_LINES

    def ends(self) -> Ends:
        """Return the text if it fits, else its ends in whole lines, as far as it has lines."""
        if self.fits:
            return Ends(head=self._head.decode())
        room = MOST_BYTES - _NOTE_BYTES
        head = _first(self._head, int(MOST_LINES * _HEAD_SHARE), int(room * _HEAD_SHARE))
        rest = MOST_LINES - int(MOST_LINES * _HEAD_SHARE)
        tail = _last(self._tail, rest, room - int(room * _HEAD_SHARE))
        shown = head.count(b"\n") + tail.count(b"\n")
        return Ends(
            head=head.decode(errors="ignore"),
            tail=tail.decode(errors="ignore"),
            omitted_lines=self._lines - shown,
            omitted_bytes=self._bytes - len(head) - len(tail),
        )


def _first(data: bytes, lines: int, size: int) -> bytes:
    cut = b"".join(data[:size].splitlines(keepends=True)[:lines])
    return cut[: cut.rfind(b"\n") + 1] or _whole_characters(cut)


def _last(data: bytes, lines: int, size: int) -> bytes:
    cut = data[-size:]
    cut = b"".join(cut.split(b"\n", 1)[1:]) or _whole_characters(cut)
    kept = cut.splitlines(keepends=True)
    return b"".join(kept[-lines:])


def _whole_characters(data: bytes) -> bytes:
    """Leave out a character that was cut in two."""
    return data.decode(errors="ignore").encode()
