"""The output of a terminal on its way into a recording: without secrets, with its times. Pure.

A line is held back until it ends, because only the whole line shows a secret in it. What happens
meanwhile (a resize, a marker) waits behind it, so everything comes out in the order in which it
happened, with the time at which it did.
"""

from __future__ import annotations

import codecs
import copy
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from agent_pty.core.evidence.cast import Code
from agent_pty.core.redaction.redactor import Redactor

# A line that comes in more pieces, a spinner for an hour, has fewer times than pieces.
_MOST_PIECES = 4096


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that is recorded: when, what, and its text."""

    at_ns: int
    code: Code
    text: str


@dataclass(slots=True)
class _Piece:
    """So many bytes of output came at one time."""

    at_ns: int
    length: int


def _thinned(waiting: deque[_Piece | Entry]) -> deque[_Piece | Entry]:
    """Join every two pieces that follow each other: half of the times are enough."""
    found: deque[_Piece | Entry] = deque()
    alone = False
    for one in waiting:
        last = found[-1] if found else None
        if alone and isinstance(one, _Piece) and isinstance(last, _Piece):
            last.length += one.length
            alone = False
        else:
            found.append(one)
            alone = isinstance(one, _Piece)
    return found


class CastStream:
    """Follows one terminal; *known* are values that are secret wherever they stand."""

    def __init__(self, known: Iterable[bytes] = ()) -> None:
        self._redactor = Redactor(known, in_place=True)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting: deque[_Piece | Entry] = deque()
        # So much of the unfinished line was shown before it ended.
        self._shown_early = 0

    @property
    def held(self) -> int:
        """How many bytes of output have not come out yet."""
        return self._redactor.held - self._shown_early

    @property
    def waiting(self) -> int:
        """How many things wait for the end of a line."""
        return len(self._waiting)

    def output(self, at_ns: int, data: bytes) -> list[Entry]:
        """Take what the terminal wrote; return what can be recorded by now."""
        self._waiting.append(_Piece(at_ns, len(data)))
        if len(self._waiting) > _MOST_PIECES:
            self._waiting = _thinned(self._waiting)
        ready = self._redactor.feed(data)
        fresh = ready[self._shown_early :]
        self._shown_early = max(0, self._shown_early - len(ready))
        return self._timed(fresh)

    def other(self, entry: Entry) -> list[Entry]:
        """Take something else that happened."""
        self._waiting.append(entry)
        return self._timed(b"")

    def flush(self) -> list[Entry]:
        """Return everything, although a line has not ended.

        The line goes on to be followed, so the rest of a secret in it is still recognised.
        """
        fresh = self._redactor.peek()[self._shown_early :]
        self._shown_early = self._redactor.held
        return self._timed(fresh)

    def pending(self) -> list[Entry]:
        """Return what `flush` would, and change nothing."""
        return copy.deepcopy(self).flush()

    def take_counts(self) -> dict[str, int]:
        """Return how many secrets of each kind were covered since the last call."""
        counts = dict(sorted(self._redactor.counts.items()))
        self._redactor.counts.clear()
        return counts

    def _timed(self, data: bytes) -> list[Entry]:
        """Give the bytes that are ready the times at which they came."""
        entries: list[Entry] = []
        position = 0
        while self._waiting:
            first = self._waiting[0]
            if isinstance(first, Entry):
                entries.append(first)
            else:
                end = min(position + first.length, len(data))
                text = self._decoder.decode(data[position:end])
                if text:
                    entries.append(Entry(first.at_ns, "o", text))
                first.length -= end - position
                position = end
                if first.length:
                    break
            self._waiting.popleft()
        return entries
