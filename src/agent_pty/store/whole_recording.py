"""The segments of a recording, read as one: what a session's terminal showed, from the beginning.

Only the recording is read, in which secrets are covered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from agent_pty.core.evidence.cast import BadCast, CastReader, Header, size_text
from agent_pty.core.evidence.playback import Moment
from agent_pty.errors import BadRequest, UnknownSession
from agent_pty.store import journal_files, recording

_SECOND = 1_000_000_000
_PAINTED = "\x1bc"


class WholeRecording:
    """A recording; *problems* says after reading what is missing in it."""

    def __init__(self, name: str, there: list[recording.Segment]) -> None:
        self._name = name
        self._segments = there
        try:
            self._header = recording.read_header(there[0])
        except BadCast as error:
            raise BadRequest(f"the recording of {name} cannot be read: {error}") from error
        self.problems: list[str] = []

    @property
    def name(self) -> str:
        """Whose it is."""
        return self._name

    @property
    def rows(self) -> int:
        """The height at the beginning."""
        return self._header.term.rows

    @property
    def cols(self) -> int:
        """The width at the beginning."""
        return self._header.term.cols

    @property
    def header(self) -> Header:
        """The first line of it."""
        return self._header

    def moments(self) -> Iterator[Moment]:
        """Yield everything in its order, and a marker where something is missing."""
        self.problems.clear()
        began = self._header.agent_pty.monotonic_ns
        first = self._segments[0].number
        size, before = (self.rows, self.cols), first - 1
        try:
            for segment in self._segments:
                header = recording.read_header(segment)
                start = header.agent_pty.monotonic_ns
                yield from self._missing(segment.number - before - 1, (start - began) / _SECOND)
                now = header.term.rows, header.term.cols
                if now != size:
                    text = size_text(rows=now[0], cols=now[1])
                    yield Moment(at=(start - began) / _SECOND, code="r", text=text)
                # A segment begins with the screen as it was. After the one before it, that is
                # there already.
                known = first != segment.number == before + 1 and header.agent_pty.gap is None
                size, before = now, segment.number
                reader = CastReader(start)
                for place, line in enumerate(recording.read_events(segment)):
                    at_ns, code, text = reader.event(line)
                    if not (known and place == 0 and text.startswith(_PAINTED)):
                        yield Moment(at=(at_ns - began) / _SECOND, code=code, text=text)
        except (BadCast, OSError) as error:
            self.problems.append(f"it ends where it is damaged: {error}")

    def _missing(self, count: int, at: float) -> Iterator[Moment]:
        if count > 0:
            text = f"{count} segment(s) were dropped here to keep the budget"
            self.problems.append(text)
            yield Moment(at=at, code="m", text=text)


def whole_recording(log_dir: str, name: str, instance: str | None = None) -> WholeRecording:
    """Find the recording of a session, running or not; or read the file that *name* is."""
    if "/" in name or name.endswith((".cast", ".cast.gz")):
        if not os.path.isfile(name):
            raise BadRequest(f"{name} is no file")
        size = os.path.getsize(name)
        return WholeRecording(name, [recording.Segment(number=1, path=name, size=size)])
    path = journal_files.find(log_dir, name, instance)
    found = None if path is None else journal_files.instance_of(path)
    if found is None:
        raise UnknownSession(name, instance)
    there = recording.segments(recording.directory_of(log_dir, found))
    if not there:
        raise BadRequest(f"session {name} has no recording: `[recording]` in config.toml")
    return WholeRecording(name, there)
