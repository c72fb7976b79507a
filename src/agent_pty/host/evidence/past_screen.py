"""Draws the screen of a past moment again: one segment of the recording, up to that moment."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agent_pty.core.evidence.cast import BadCast, CastReader, Header, parsed_size
from agent_pty.core.evidence.cast_stream import Entry
from agent_pty.emulator import Emulator
from agent_pty.emulator.html_document import html_document
from agent_pty.errors import BadRequest
from agent_pty.ops.model import ScreenCursor
from agent_pty.ops.past_screen import PastForm, PastScreen
from agent_pty.store import recording
from agent_pty.store.recording import Segment

_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which moment of whose recording: by the monotonic clock, or else by the wall's."""

    name: str
    instance: str
    directory: str
    monotonic_ns: int | None
    time: float | None
    form: PastForm


class _Begun(NamedTuple):
    """A segment, its header, and when it began: by both clocks."""

    segment: Segment
    header: Header
    monotonic_ns: int
    time: float

    def wall(self, at_ns: int) -> str:
        """Return a moment as the wall clock has it."""
        return _shown(self.time + (at_ns - self.monotonic_ns) / _SECOND)


def past_screen(wanted: Wanted, pending: Sequence[Entry]) -> PastScreen:
    """Return the screen; *pending* is what a living session has not written yet."""
    there = recording.segments(wanted.directory)
    if not there:
        raise BadRequest(f"session {wanted.name} has no recording: `[recording]` in config.toml")
    begun = _begun_before(wanted, there)
    at_ns = _moment(wanted, begun)
    following = there[there.index(begun.segment) + 1 :]
    emulator = Emulator(rows=begun.header.term.rows, cols=begun.header.term.cols)
    try:
        tail = pending if not following else ()
        last_ns, problem = _replay(emulator, begun, at_ns, tail)
        if problem is None and following and at_ns > last_ns:
            problem = _dropped(begun.segment.number, following[0].number)
        moments = (begun.wall(at_ns), begun.wall(last_ns))
        return _described(wanted, begun, emulator, moments, problem or _doubt(begun, emulator))
    finally:
        emulator.close()


def _dropped(before: int, after: int) -> str | None:
    """Say that segments between two are missing."""
    count = after - before - 1
    return f"{count} segment(s) that followed were dropped to keep the budget" if count else None


def _begun(segment: Segment) -> _Begun:
    header = recording.read_header(segment)
    origin = header.agent_pty
    started = dt.datetime.fromisoformat(origin.started_at).timestamp()
    return _Begun(segment, header, origin.monotonic_ns, started)


def _begun_before(wanted: Wanted, there: Sequence[Segment]) -> _Begun:
    """Return the last segment that began before the moment, by halving."""

    def start(segment: Segment) -> float:
        found = _begun(segment)
        return found.monotonic_ns if wanted.monotonic_ns is not None else found.time

    moment = wanted.monotonic_ns if wanted.monotonic_ns is not None else wanted.time or 0.0
    try:
        place = bisect_right(there, moment, key=start)
        if place == 0 and wanted.monotonic_ns is None:
            first = _begun(there[0])
            raise BadRequest(f"the recording begins later: at {_shown(first.time)}", field="at")
        return _begun(there[max(0, place - 1)])
    except BadCast as error:
        raise BadRequest(f"the recording cannot be read: {error}") from error


def _moment(wanted: Wanted, begun: _Begun) -> int:
    if wanted.monotonic_ns is not None:
        return wanted.monotonic_ns
    return begun.monotonic_ns + int(((wanted.time or 0.0) - begun.time) * _SECOND)


def _replay(
    emulator: Emulator, begun: _Begun, at_ns: int, pending: Sequence[Entry]
) -> tuple[int, str | None]:
    """Draw everything up to a moment; return when the last of it was, and what went wrong."""
    last = begun.monotonic_ns
    try:
        for when, code, text in _events(begun, pending):
            if when > at_ns:
                break
            if code == "o":
                emulator.feed(text.encode())
            elif code == "r":
                rows, cols = parsed_size(text)
                emulator.resize(rows=rows, cols=cols)
            last = when
    except BadCast as error:
        return last, str(error)
    return last, None


def _events(begun: _Begun, pending: Sequence[Entry]) -> Iterator[tuple[int, str, str]]:
    reader = CastReader(begun.monotonic_ns)
    for line in recording.read_events(begun.segment):
        yield reader.event(line)
    for one in pending:
        yield one.at_ns, one.code, one.text


def _doubt(begun: _Begun, emulator: Emulator) -> str | None:
    if begun.header.agent_pty.alternate and not emulator.alternate:
        return "what stood under the full-screen program before is not known"
    return begun.header.agent_pty.gap


def _described(
    wanted: Wanted,
    begun: _Begun,
    emulator: Emulator,
    moments: tuple[str, str],
    problem: str | None,
) -> PastScreen:
    cursor = emulator.cursor
    return PastScreen(
        id=wanted.name,
        instance=wanted.instance,
        at=moments[0],
        changed_at=moments[1],
        rows=emulator.rows,
        cols=emulator.cols,
        text=emulator.text(),
        cursor=ScreenCursor(row=cursor.row, col=cursor.col, visible=cursor.visible),
        title=emulator.title,
        alternate_screen=emulator.alternate,
        segment=begun.segment.number,
        problem=problem,
        format=wanted.form,
        content=_content(emulator, wanted),
    )


def _content(emulator: Emulator, wanted: Wanted) -> str | None:
    if wanted.form == "text":
        return None
    if wanted.form == "ansi":
        return emulator.format("vt")
    return html_document(emulator.format("html"), title=wanted.name)


def _shown(time: float) -> str:
    found = dt.datetime.fromtimestamp(time, dt.UTC)
    return found.isoformat(timespec="microseconds").replace("+00:00", "Z")
