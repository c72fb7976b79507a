"""The transcript's text: the newest in memory, the rest in segment files, the oldest dropped.

While the disk is full, up to `_MOST_HELD` bytes stay in memory. What exceeds that is lost.

Two kinds of numbers. A *place* counts bytes of text. A *cursor* is what readers are given:
it is ahead of the place by `shift`, which grows whenever a line that a reader had been shown
was rewritten before it ended (a progress bar). So the cursor of a reader that saw `50%` is
before the line that now says `100%`, and the next read returns that whole line.
"""

from __future__ import annotations

import bisect
import contextlib
import errno
import os
from dataclasses import dataclass, field

from agent_pty.store.atomic import write_all

_BUFFER = 64 * 1024
_MOST_HELD = 1024 * 1024
_SEGMENT = 8 * 1024 * 1024
# More than a reader can have been shown that is not in the files: buffer and unfinished line.
_MOST_UNSAVED = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Text from *place*, which is later than what was asked for if older text is gone."""

    place: int
    text: bytes


@dataclass(slots=True, kw_only=True)
class LogPositions:
    """The numbers of a log that must survive a crash."""

    committed: int = 0
    first: int = 0
    # (place, shift from there on), ascending
    shifts: list[tuple[int, int]] = field(default_factory=list)


class TextLog:
    """Append-only text in *directory*, of which the last *keep* bytes stay readable."""

    def __init__(self, directory: str, *, keep: int, positions: LogPositions | None = None) -> None:
        self._directory = directory
        self._keep = keep
        self._positions = positions or LogPositions()
        self._buffer = bytearray()
        self._refused = 0  # how much of the buffer the disk had no room for
        self._fd = -1
        self._segments = self._found() if positions else []

    @property
    def committed(self) -> int:
        """Place after the last byte appended."""
        return self._positions.committed

    @property
    def first(self) -> int:
        """Place of the oldest byte that can still be read."""
        return self._positions.first

    @property
    def shift(self) -> int:
        """How far cursors are ahead of places at the end of the text."""
        return self._positions.shifts[-1][1] if self._positions.shifts else 0

    def positions(self) -> LogPositions:
        """Write everything to the files and return the numbers that go with them.

        Raise OSError if the files have not all of it, because the disk is full.
        """
        self.flush()
        if self._buffer:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._directory)
        return LogPositions(
            committed=self.committed, first=self.first, shifts=list(self._positions.shifts)
        )

    def append(self, text: bytes) -> None:
        """Add committed text."""
        self._buffer += text
        self._positions.committed += len(text)
        if len(self._buffer) - self._refused >= _BUFFER:
            self.flush()

    def supersede(self, place: int, shown: int) -> None:
        """Give the line that begins at *place* new cursors: *shown* bytes of it were rewritten.

        Lines are superseded in their order: only the last one can still be rewritten.
        """
        self._positions.shifts.append((place, self.shift + shown))

    def cursor(self, place: int) -> int:
        """Return the cursor of a place."""
        index = bisect.bisect_right(self._positions.shifts, place, key=lambda entry: entry[0])
        return place + (self._positions.shifts[index - 1][1] if index else 0)

    def place(self, cursor: int) -> int:
        """Return the place of a cursor; one within rewritten text means its line's start."""
        shifts = self._positions.shifts
        # Entries are ascending in place + shift too: that is where their cursors begin.
        index = bisect.bisect_right(shifts, cursor, key=lambda entry: entry[0] + entry[1])
        shift = shifts[index - 1][1] if index else 0
        place = cursor - shift
        return min(place, shifts[index][0]) if index < len(shifts) else place

    def read(self, start: int, limit: int) -> Excerpt:
        """Return up to *limit* bytes from place *start*, or from a later place if that is gone."""
        start = max(start, self.first)
        end = min(start + limit, self.committed)
        in_memory = self.committed - len(self._buffer)
        pieces = [self._from_files(start, min(end, in_memory))] if start < in_memory else []
        if end > in_memory:
            begin = max(start, in_memory) - in_memory
            pieces.append(bytes(self._buffer[begin : end - in_memory]))
        return Excerpt(place=start, text=b"".join(pieces))

    def flush(self) -> None:
        """Write the buffer to the files; what a full disk refuses stays in memory for now."""
        if not self._buffer:
            return
        try:
            self._write(bytes(self._buffer))
        except OSError:
            self._lose_surplus()
            self._refused = len(self._buffer)
            return
        self._buffer.clear()
        self._refused = 0
        self._drop_oldest()

    def _lose_surplus(self) -> None:
        """Keep the newest of what the disk refused, if it is too much; `first` shows the loss."""
        if len(self._buffer) <= _MOST_HELD:
            return
        del self._buffer[: len(self._buffer) - _MOST_HELD // 2]
        self._positions.first = self.committed - len(self._buffer)
        self._close_segment()  # the next one begins after the gap

    def close(self) -> None:
        """Close the open segment; the files stay."""
        self._close_segment()

    def _write(self, data: bytes) -> None:
        start = self.committed - len(self._buffer)
        if self._fd < 0 or start - self._segments[-1] >= _SEGMENT:
            self._close_segment()
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            self._fd = os.open(self._path(start), flags, 0o600)
            self._segments.append(start)
        try:
            write_all(self._fd, data)
        except OSError:
            self._cut(start)
            raise

    def _cut(self, place: int) -> None:
        """Remove what was written from *place* on: it will be written again."""
        os.ftruncate(self._fd, place - self._segments[-1])
        if self._segments[-1] == place:
            self._close_segment()
            os.unlink(self._path(self._segments.pop()))

    def _drop_oldest(self) -> None:
        while len(self._segments) > 1 and self.committed - self._segments[1] >= self._keep:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path(self._segments.pop(0)))
            self._positions.first = max(self._positions.first, self._segments[0])
            self._forget_shifts()

    def _forget_shifts(self) -> None:
        """Of the shifts before the oldest text keep only the last, which is still in effect."""
        shifts = self._positions.shifts
        old = bisect.bisect_right(shifts, self.first, key=lambda entry: entry[0])
        del shifts[: max(0, old - 1)]

    def _from_files(self, start: int, end: int) -> bytes:
        pieces = []
        while start < end:
            index = bisect.bisect_right(self._segments, start) - 1
            following = self._segments[index + 1 : index + 2]
            stop = min(end, following[0]) if following else end
            pieces.append(
                _pread(
                    self._path(self._segments[index]), start - self._segments[index], stop - start
                )
            )
            start = stop
        return b"".join(pieces)

    def _found(self) -> list[int]:
        """Find the segments of an earlier host's log, cut to what its positions count."""
        starts = _starts(self._directory)
        for start in [start for start in starts if start >= self.committed]:
            os.unlink(self._path(start))
        kept = [start for start in starts if start < self.committed]
        if kept:
            os.truncate(self._path(kept[-1]), self.committed - kept[-1])
        return kept

    def _close_segment(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _path(self, start: int) -> str:
        return _path(self._directory, start)


def last_text(directory: str, *, most: int) -> Excerpt:
    """Return the end of what the files have, at most *most* bytes, of a log that nobody writes."""
    text, place = b"", None
    for start in reversed(_starts(directory)):
        path = _path(directory, start)
        end = start + os.path.getsize(path)
        if place is not None and end != place:
            break  # the disk was full in between
        place = max(start, end - (most - len(text)))
        text = _pread(path, place - start, end - place) + text
        if len(text) == most:
            break
    return Excerpt(place=place or 0, text=text)


def continued_positions(directory: str, known: LogPositions) -> LogPositions:
    """Return where a log goes on whose writer was killed: after all that the files have.

    Readers may have been shown text that is in no file. Their cursors mean the next line, because
    what follows has cursors that are ahead of every cursor that can have been given.
    """
    starts = _starts(directory)
    end = starts[-1] + os.path.getsize(_path(directory, starts[-1])) if starts else 0
    committed = max(known.committed, end)
    shift = known.shifts[-1][1] if known.shifts else 0
    shifts = [*known.shifts, (committed, shift + _MOST_UNSAVED)]
    return LogPositions(committed=committed, first=known.first, shifts=shifts)


def _starts(directory: str) -> list[int]:
    names = [name for name in os.listdir(directory) if name.startswith("text.")]
    return sorted(int(name.partition(".")[2]) for name in names)


def _path(directory: str, start: int) -> str:
    return f"{directory}/text.{start}"


def _pread(path: str, offset: int, count: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, count, offset)
    finally:
        os.close(fd)
