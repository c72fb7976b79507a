"""The raw spool: the last bytes of a terminal, in memory that outlives its writer.

The descriptor is the keeper's, which gives it to the next host. The PTY is read straight into
its mapping, so there is no moment at which a byte is taken from the terminal and not yet in
there: `kill -9` between two instructions loses nothing. What the kernel put there last may not
be counted yet; it is found again because the bytes ahead of the count are zero, and a zero byte
means nothing to a terminal.

Rule of this file: the `AHEAD` bytes after a new count are zero before that count is stored.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import struct

from agent_pty.store.atomic import write_all

SIZE = 1024 * 1024
AHEAD = 64 * 1024
_VERSION = 1
# Version, bytes ever written, bytes whose replies were sent, cursor of the last input, place at
# which a reader was last shown the unfinished line, number of the last event, bytes that the
# recording has, lines that a private key which is being typed may still have. The last three are
# newer than the version: a spool without them has zeros there.
_HEADER = struct.Struct("<QQQQQQQQ")
_START = 4096
# Between the header and the bytes: input whose line has not ended, its length first.
_TYPED = 256
_TYPED_LENGTH = struct.Struct("<Q")
MOST_TYPED = _START - _TYPED - _TYPED_LENGTH.size
# After the bytes: two places for what the writer remembers, of which one is always whole. Each has
# a number, which is higher than that of the other if it is newer, and a length.
_PLACE = struct.Struct("<QQ")
_PLACE_SIZE = 64 * 1024
MOST_REMEMBERED = _PLACE_SIZE - _PLACE.size
_PLACES = (_START + SIZE, _START + SIZE + _PLACE_SIZE)
# Spools of the previous build have no such places.
_BEFORE = _START + SIZE
_WHOLE = _BEFORE + len(_PLACES) * _PLACE_SIZE
_ZEROS = bytes(AHEAD)


class RingLost(Exception):
    """The spool is missing, damaged or of another version."""


class Ring:
    """A window on the last `SIZE - AHEAD` bytes, addressed by their place in the whole stream.

    With *create* it begins empty, whatever *fd* has. The caller keeps *fd*.
    """

    def __init__(self, fd: int, *, create: bool = False) -> None:
        self._map = _begun(fd) if create else _mapped(fd)
        self._view = memoryview(self._map)
        fields: tuple[int, ...] = _HEADER.unpack_from(self._map)
        version, self.written, self.answered, self._input, self._shown = fields[:5]
        self._event, self._recorded, self._key_lines = fields[5:]
        if version != _VERSION:
            self._unmap()
            raise RingLost(f"the spool has version {version}, not {_VERSION}")
        try:
            self._fd = os.dup(fd)
        except OSError:
            self._unmap()
            raise

    @classmethod
    def of_file(cls, path: str) -> Ring:
        """Return the ring of a session that the previous build began: it is in a file."""
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise RingLost(f"{path}: {error.strerror}") from error
        try:
            return cls(fd)
        finally:
            os.close(fd)

    @property
    def fd(self) -> int:
        """The descriptor itself, to give a duplicate of it to the keeper."""
        return self._fd

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

    @property
    def recorded(self) -> int:
        """How many bytes the recording has; 0: none, or nobody knows."""
        return self._recorded

    @property
    def key_lines(self) -> int:
        """How many lines a private key may still have that is being typed; 0: none is."""
        return self._key_lines

    def note(
        self,
        *,
        input_cursor: int | None = None,
        shown: int | None = None,
        event: int | None = None,
        recorded: int | None = None,
        key_lines: int | None = None,
    ) -> None:
        """Remember numbers across a crash."""
        self._input = self._input if input_cursor is None else input_cursor
        self._shown = self._shown if shown is None else shown
        self._event = self._event if event is None else event
        self._recorded = self._recorded if recorded is None else recorded
        self._key_lines = self._key_lines if key_lines is None else key_lines
        self._store()

    @property
    def typed(self) -> tuple[int, bytes]:
        """Input whose line has not ended: its length, and as much of its end as is kept."""
        (length,) = _TYPED_LENGTH.unpack_from(self._map, _TYPED)
        begin = _TYPED + _TYPED_LENGTH.size
        return length, self._map[begin : begin + min(length, MOST_TYPED)]

    def note_typed(self, held: bytes) -> None:
        """Remember input whose line has not ended, here and nowhere else: it may be a secret."""
        kept = held[-MOST_TYPED:]
        begin = _TYPED + _TYPED_LENGTH.size
        _TYPED_LENGTH.pack_into(self._map, _TYPED, len(held))
        self._map[begin : begin + MOST_TYPED] = kept.ljust(MOST_TYPED, b"\0")

    @property
    def memory(self) -> bytes | None:
        """What was remembered last; empty: nothing yet. None: it could not be remembered."""
        number, length, begin = max(self._remembered())
        if number == 0:
            return b"" if begin else None
        return self._map[begin : begin + length] if length else None

    def remember(self, data: bytes) -> None:
        """Remember something instead of what was remembered before, here and nowhere else."""
        places = self._remembered()
        if not places[0][2]:
            return
        (newest, _, _), (_, _, begin) = max(places), min(places)
        kept = data if len(data) <= MOST_REMEMBERED else b""
        _PLACE.pack_into(self._map, begin - _PLACE.size, 0, 0)
        self._map[begin : begin + len(kept)] = kept
        _PLACE.pack_into(self._map, begin - _PLACE.size, newest + 1, len(kept))

    def _remembered(self) -> list[tuple[int, int, int]]:
        """Return number, length and beginning of each place."""
        if len(self._map) == _BEFORE:
            return [(0, 0, 0)]
        return [(*_PLACE.unpack_from(self._map, at), at + _PLACE.size) for at in _PLACES]

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
        # Not by the mapping: that would take memory for what was never written.
        ahead = os.pread(self._fd, min(AHEAD, SIZE - start), _START + start)
        ahead += os.pread(self._fd, AHEAD - len(ahead), _START)
        self.commit(len(ahead.rstrip(b"\0")))

    def close(self) -> None:
        """Let go of it; what the keeper holds stays."""
        self._unmap()
        os.close(self._fd)

    def _unmap(self) -> None:
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
        _HEADER.pack_into(self._map, 0, _VERSION, *fields, self._recorded, self._key_lines)


def is_unused(fd: int) -> bool:
    """Whether no ring has been made there yet."""
    return not any(os.pread(fd, _HEADER.size, 0))


def _mapped(fd: int) -> mmap.mmap:
    found = os.fstat(fd).st_size
    if found not in (_WHOLE, _BEFORE):  # beyond its end there would be a SIGBUS
        raise RingLost(f"the spool has {found} bytes, not {_WHOLE}")
    return mmap.mmap(fd, found)


def _begun(fd: int) -> mmap.mmap:
    if os.fstat(fd).st_size == 0:
        os.ftruncate(fd, _WHOLE)
    mapped = _mapped(fd)
    if not _sealed(fd):
        _reserve(fd)
    if not is_unused(fd):  # what is there cannot be read, and the next host must not find it
        mapped[_START:] = bytes(len(mapped) - _START)
    _HEADER.pack_into(mapped, 0, _VERSION, 0, 0, 0, 0, 0, 0, 0)
    return mapped


def _sealed(fd: int) -> bool:
    """Have the kernel refuse another size, which would end whoever has it mapped by a SIGBUS.

    It is not reserved: what is not written costs nothing. False if it is a file.
    """
    if not hasattr(fcntl, "F_ADD_SEALS"):  # macOS
        return False
    try:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return False
    return True


def _reserve(fd: int) -> None:
    """Take the room on the disk now: later its lack would be a SIGBUS in the middle of a read."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, _WHOLE)
    else:  # macOS
        os.lseek(fd, 0, os.SEEK_SET)
        write_all(fd, bytes(_WHOLE))
