"""The two ends of a long text: 30 % of the room for its head, 70 % for its tail. Pure.

Errors and results stand at the end, what was started at the beginning. Runs of identical lines
are shown once, with their count, before it is decided what fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent_pty.core.repeated_lines import RepeatedLines, Run

MOST_LINES = 2000
MOST_BYTES = 51_200
_HEAD_SHARE = 0.3
# For the note about what was left out.
_NOTE_BYTES = 1000
# The tail is chosen from this many bytes.
_LAST_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """What is shown of a text, and how much of it lies between *head* and *tail*."""

    head: str
    tail: str = ""
    omitted_lines: int = 0
    omitted_bytes: int = 0
    # How many bytes of the text are before what was left out.
    omitted_from: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return not self.omitted_bytes

    @property
    def omitted_to(self) -> int:
        """How many bytes of the text are before *tail*."""
        return self.omitted_from + self.omitted_bytes


class Excerpt:
    """Is fed a text of any length, and holds no more of it than its ends."""

    def __init__(self) -> None:
        self._first = RepeatedLines()
        self._last = b""
        self._bytes = 0
        self._lines = 0
        self._fits = True

    def feed(self, text: str) -> None:
        """Take the next piece."""
        data = text.encode("utf-8", "replace")
        self._bytes += len(data)
        self._lines += data.count(b"\n")
        self._last = (self._last + data)[-_LAST_BYTES:]
        if self._fits:
            self._first.feed(data.decode())
            self._fits = (
                self._first.shown_size <= MOST_BYTES and self._first.shown_lines <= MOST_LINES
            )

    @property
    def size(self) -> int:
        """How many bytes the text has so far."""
        return self._bytes

    @property
    def fits(self) -> bool:
        """Whether all of it can be shown so far."""
        return self._fits

    def ends(self) -> Ends:
        """Return the text if it fits, else its ends in whole lines, as far as it has lines."""
        if self.fits:
            return Ends(head="".join(run.shown for run in self._first.runs))
        room = MOST_BYTES - _NOTE_BYTES
        lines, size = int(MOST_LINES * _HEAD_SHARE), int(room * _HEAD_SHARE)
        head = _fitting(self._first.runs, lines=lines, size=size)
        if not head:
            head = [Run(line=_whole_characters(self._first.runs[0].line.encode()[:size]))]
        before = sum(run.size for run in head)
        rest = self._tail_runs(self._bytes - before)
        size = room - size
        tail = _fitting(reversed(rest), lines=MOST_LINES - lines, size=size)[::-1]
        if not tail:
            tail = [Run(line=_whole_characters(rest[-1].line.encode()[-size:]))]
        return Ends(
            head="".join(run.shown for run in head),
            tail="".join(run.shown for run in tail),
            omitted_lines=self._lines - sum(run.lines for run in (*head, *tail)),
            omitted_bytes=self._bytes - before - sum(run.size for run in tail),
            omitted_from=before,
        )

    def _tail_runs(self, size: int) -> list[Run]:
        """Return the last *size* bytes as runs, or as many as are held, in whole lines."""
        data = self._last[-size:]
        if size > len(data) and b"\n" in data[:-1]:
            data = data.partition(b"\n")[2]
        found = RepeatedLines()
        found.feed(_whole_characters(data))
        return found.runs


def _fitting(runs: Iterable[Run], *, lines: int, size: int) -> list[Run]:
    """Return the first runs that together have no more lines and bytes than this."""
    kept = []
    for run in runs:
        lines -= run.shown.count("\n")
        size -= len(run.shown.encode())
        if lines < 0 or size < 0:
            break
        kept.append(run)
    return kept


def _whole_characters(data: bytes) -> str:
    """Leave out a character that was cut in two."""
    return data.decode(errors="ignore")
