"""The raw spool: the last bytes of a terminal, in a file that outlives its writer.

The PTY is read straight into the mapped file, so there is no moment at which a byte is
taken from the terminal and not yet in the file: `kill -9` between two instructions loses
nothing. What the kernel put there last may not be counted yet; it is found again because
the bytes ahead of the count are zero, and a zero byte means nothing to a terminal.

Rule of this file: the `AHEAD` bytes after a new count are zero before that count is stored.
"""

from __future__ import annotations

import mmap
import os
import struct

from agent_pty.store.atomic import write_all

SIZE = 1024 * 1024
AHEAD = 64 * 1024
_VERSION = 1
# Version, bytes ever written, bytes whose replies were sent, cursor of the last input, place at
# which a reader was last shown the unfinished line, number of the last event. The last field is
# newer than the version: a file without it has zeros there.
_HEADER = struct.Struct("<QQQQQQ")
_START = 4096
_ZEROS = bytes(AHEAD)


class RingLost(Exception):
    """The file is missing, damaged or of another version."""


class Ring:
    """A window on the last `SIZE - AHEAD` bytes, addressed by their place in the whole stream."""

    def __init__(self, path: str, *, create: bool) -> None:
        self.path = path
        self._map = _create(path) if create else _open(path)
        self._view = memoryview(self._map)
        fields: tuple[int, ...] = _HEADER.unpack_from(self._map)
        version, self.written, self.answered, self._input, self._shown, self._event = fields
        if version != _VERSION:
            self.close()
            raise RingLost(f"{path}: version {version}, not {_VERSION}")

    @property
    def oldest(self) -> int:
        """Place of the oldest byte still there."""
        return max(0, self.written + AHEAD - SIZE)

    @property
    def input_cursor(self) -> int:
        """Transcript cursor at the last input."""
        return self._input

    @property
    def shown(self) -> int:
        """Place at which a reader was last shown the unfinished line."""
        return self._shown

    @property
    def event(self) -> int:
        """Number of the last event."""
        return self._event

    def note(
        self,
        *,
        input_cursor: int | None = None,
        shown: int | None = None,
        event: int | None = None,
    ) -> None:
        """Remember numbers across a crash."""
        self._input = self._input if input_cursor is None else input_cursor
        self._shown = self._shown if shown is None else shown
        self._event = self._event if event is None else event
        self._store()

    def room(self) -> memoryview:
        """Return where the next bytes go: one piece, never empty, at most `AHEAD` long."""
        start = self.written % SIZE
        return self._view[_START + start : _START + min(start + AHEAD, SIZE)]

    def commit(self, count: int) -> None:
        """Count *count* bytes that were written to `room`."""
        self._clear(self.written + AHEAD, count)
        self.written += count
        self._store()

    def acknowledge(self, place: int) -> None:
        """Note that everything before *place* was understood and its replies were sent."""
        self.answered = place
        self._store()

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from *start* to *end* of the stream."""
        if start < self.oldest or end > self.written:
            raise RingLost(f"{start}..{end} is not within {self.oldest}..{self.written}")
        pieces = []
        while start < end:
            at = start % SIZE
            count = min(end - start, SIZE - at)
            pieces.append(self._map[_START + at : _START + at + count])
            start += count
        return b"".join(pieces)

    def recover(self) -> None:
        """Count the bytes that a crashed writer had read but not counted."""
        start = self.written % SIZE
        ahead = self._map[_START + start : _START + min(start + AHEAD, SIZE)]
        if len(ahead) < AHEAD:
            ahead += self._map[_START : _START + AHEAD - len(ahead)]
        self.commit(len(ahead.rstrip(b"\0")))

    def close(self) -> None:
        """Unmap; the file stays."""
        self._view.release()
        self._map.close()

    def _clear(self, place: int, count: int) -> None:
        start = place % SIZE
        first = min(count, SIZE - start)
        self._map[_START + start : _START + start + first] = _ZEROS[:first]
        if first < count:
            self._map[_START : _START + count - first] = _ZEROS[first:count]

    def _store(self) -> None:
        fields = (self.written, self.answered, self._input, self._shown, self._event)
        _HEADER.pack_into(self._map, 0, _VERSION, *fields)


def _create(path: str) -> mmap.mmap:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o600)
    try:
        _reserve(fd)
        mapped = mmap.mmap(fd, _START + SIZE)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(fd)
    _HEADER.pack_into(mapped, 0, _VERSION, 0, 0, 0, 0, 0)
    return mapped


def _reserve(fd: int) -> None:
    # A full disk must be reported here: later it would be a SIGBUS in the middle of a read.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, _START + SIZE)
    else:  # macOS
        write_all(fd, bytes(_START + SIZE))


def _open(path: str) -> mmap.mmap:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise RingLost(f"{path}: {error.strerror}") from error
    try:
        if os.fstat(fd).st_size != _START + SIZE:
            raise RingLost(f"{path}: wrong size")
        return mmap.mmap(fd, _START + SIZE)
    finally:
        os.close(fd)
