"""The files of a recording: `recordings/<instance>/recording-000001.cast.gz` and so on.

The segment that is written is plain, so that a crash leaves whole lines; one that is finished is
compressed. Digests are those of the plain text, whichever form the file has.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from agent_pty.core.evidence.cast import BadCast, CastReader, Header, parsed_header
from agent_pty.store import atomic

_NAME = re.compile(r"recording-([0-9]{6,})\.cast(\.gz)?")
_CHUNK = 1 << 20
# Text of terminals shrinks to a tenth at any level; the lowest is five times as fast.
_LEVEL = 1
_GZIP = 31
_LONGEST_LINE = 64 << 20
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


def directory_of(log_dir: str, instance: str) -> str:
    """Return where the recording of a session instance is."""
    return f"{log_dir}/recordings/{instance}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A file of a recording."""

    number: int
    path: str
    size: int

    @property
    def compressed(self) -> bool:
        """Whether it is finished and small."""
        return self.path.endswith(".gz")


def segments(directory: str) -> list[Segment]:
    """Return the segments of a recording in their order; of two forms the compressed one."""
    found: dict[int, Segment] = {}
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(directory) as all_:
        for entry in sorted(all_, key=lambda one: one.name):
            name = _NAME.fullmatch(entry.name)
            if name is not None and entry.is_file(follow_symlinks=False):
                number = int(name.group(1))
                size = entry.stat(follow_symlinks=False).st_size
                found[number] = Segment(number=number, path=entry.path, size=size)
    return [found[number] for number in sorted(found)]


def _path(directory: str, number: int) -> str:
    return f"{directory}/recording-{number:06}.cast"


class SegmentFile:
    """The segment that is being written; it is opened for each write, so that it costs nothing."""

    def __init__(self, directory: str, number: int) -> None:
        self.number = number
        self.path = _path(directory, number)
        self._hash = hashlib.sha256()
        self.size = 0

    @classmethod
    def create(cls, directory: str, number: int, lines: bytes) -> SegmentFile:
        """Begin a segment with its first lines; if that fails, there is none."""
        for path in (os.path.dirname(directory), directory):
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, mode=0o700)
        made = cls(directory, number)
        os.close(os.open(made.path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            made.append(lines)
        except OSError:
            os.unlink(made.path)
            raise
        return made

    @classmethod
    def take_up(cls, directory: str, number: int) -> SegmentFile:
        """Go on after the last whole line of a segment whose writer died."""
        made = cls(directory, number)
        with open(made.path, "rb+") as file:
            text = file.read()
            made.size = text.rfind(b"\n") + 1
            file.truncate(made.size)
        made._hash.update(text[: made.size])
        return made

    @property
    def sha256(self) -> str:
        """The digest of everything that is in it."""
        return self._hash.copy().hexdigest()

    def append(self, lines: bytes) -> None:
        """Write whole lines: all of them, or nothing."""
        fd = os.open(self.path, _FLAGS)
        try:
            atomic.write_all(fd, lines)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, self.size)
            raise
        finally:
            os.close(fd)
        self._hash.update(lines)
        self.size += len(lines)


def compress(path: str) -> None:
    """Replace a finished segment by its compressed form, on the disk for good."""
    with open(path, "rb") as plain:
        atomic.replace_by(f"{path}.gz", _compressed(plain))
    os.unlink(path)


def _compressed(plain: BinaryIO) -> Iterator[bytes]:
    packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
    while piece := plain.read(_CHUNK):
        yield packer.compress(piece)
    yield packer.flush()


def remove(segment: Segment) -> None:
    """Remove a segment in whatever form it is there."""
    plain = segment.path.removesuffix(".gz")
    for path in (plain, f"{plain}.gz"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextlib.contextmanager
def _opened(segment: Segment) -> Iterator[BinaryIO]:
    """Open a segment, also if it is compressed meanwhile; damage is a `BadCast`."""
    path = segment.path
    if not os.path.exists(path) and os.path.exists(f"{path}.gz"):
        path = f"{path}.gz"
    try:
        with open(path, "rb") as file:
            yield cast("BinaryIO", gzip.GzipFile(fileobj=file)) if path.endswith(".gz") else file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadCast(f"segment {segment.number} is damaged: {error}") from error


def compressed_digest(segment: Segment) -> str | None:
    """Return the digest of the file itself; None: it is not compressed, so it may still change."""
    if not segment.compressed:
        return None
    with open(segment.path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_header(segment: Segment) -> Header:
    """Read the first line of a segment."""
    with _opened(segment) as file:
        return parsed_header(file.readline(_LONGEST_LINE))


def read_events(segment: Segment) -> Iterator[bytes]:
    """Yield the lines after the header; an unfinished one at the end is none."""
    with _opened(segment) as file:
        file.readline(_LONGEST_LINE)
        while (line := file.readline(_LONGEST_LINE)).endswith(b"\n"):
            yield line


def read_moments(segment: Segment, most_bytes: int) -> Iterator[tuple[int, str, str]]:
    """Yield time, code and text of what is in the first *most_bytes*; it ends at any damage."""
    with contextlib.suppress(BadCast, OSError), _opened(segment) as file:
        line = file.readline(_LONGEST_LINE)
        reader, left = CastReader(parsed_header(line).agent_pty.monotonic_ns), most_bytes
        while (left := left - len(line)) > 0 and (line := file.readline(_LONGEST_LINE)):
            if len(line) > left:
                return
            yield reader.event(line)


def last_moment(directory: str, number: int) -> int:
    """Return the time of the last event of a segment; if it has none, that of its beginning."""
    found = next(one for one in segments(directory) if one.number == number)
    try:
        moment = read_header(found).agent_pty.monotonic_ns
    except BadCast:
        return 0
    reader = CastReader(moment)
    with contextlib.suppress(BadCast):
        for line in read_events(found):
            moment = reader.event(line)[0]
    return moment


def surplus(there: Sequence[Segment], budget: int) -> list[Segment]:
    """Return what must go: the oldest after the first half of the budget, which is kept.

    So the beginning of a session and its present are there, whatever was written in between.
    """
    total, kept = sum(one.size for one in there), 0
    found: list[Segment] = []
    for one in there[:-1]:
        if total <= budget:
            break
        kept += one.size
        if kept > budget // 2:
            found.append(one)
            total -= one.size
    return found


# -- what the journal says of a recording


def problem(directory: str, marks: Iterable[dict[str, Any]]) -> str | None:
    """Compare a recording with the events of its journal; return the first thing that is wrong."""
    wanted: dict[int, list[dict[str, Any]]] = {}
    dropped: set[int] = set()
    for mark in marks:
        if mark["type"] == "recording":
            wanted.setdefault(mark["segment"], []).append(mark)
        elif mark["type"] == "recording_dropped":
            dropped.update(mark["segments"])
    there = {one.number: one for one in segments(directory)}
    for number in sorted(wanted.keys() - dropped):
        if number not in there:
            return f"recording: segment {number} is gone"
        error = _differs(there[number], wanted[number])
        if error is not None:
            return f"recording: segment {number}: {error}"
    return None


def added(directory: str, marks: Iterable[dict[str, Any]]) -> str | None:
    """Name a segment that is newer than all that the journal of an ended session knows."""
    named = [mark["segment"] for mark in marks if mark["type"] == "recording"]
    last = max(named, default=0)
    newer = [one.number for one in segments(directory) if one.number > last]
    return f"recording: segment {newer[0]} is in no event" if newer and named else None


def _differs(segment: Segment, marks: list[dict[str, Any]]) -> str | None:
    """Check every digest of a segment; text after the last one is not covered yet."""
    digest, size = hashlib.sha256(), 0
    try:
        with _opened(segment) as file:
            for mark in sorted(marks, key=lambda one: one["bytes"]):
                while size < mark["bytes"]:
                    piece = file.read(min(_CHUNK, mark["bytes"] - size))
                    if not piece:
                        return f"{mark['bytes'] - size} bytes are missing at its end"
                    digest.update(piece)
                    size += len(piece)
                if digest.hexdigest() != mark["sha256"]:
                    return "it is not what was recorded"
            if any(one["sealed"] for one in marks) and file.read(1):
                return "something was added after its end"
    except (BadCast, OSError) as error:
        return str(error)
    return None
