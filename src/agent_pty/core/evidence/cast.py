"""Recordings are asciicast v3: a header, then a line for each event. Pure.

A recording consists of segments. Each is a complete asciicast of its own that begins with the
screen as it was, so a past screen costs one segment and not the whole session.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

VERSION = 3
FORMAT = 1
# Output, input, marker, resize, exit: what version 3 has.
Code = Literal["o", "i", "m", "r", "x"]
_MICROSECOND = 1_000
_SECOND = 1_000_000_000


class BadCast(ValueError):
    """A file is no recording, or a line of it is none."""


class Term(Struct, frozen=True, kw_only=True):
    """The terminal at the beginning."""

    cols: int
    rows: int
    type: str = "xterm-256color"


class Origin(Struct, frozen=True, kw_only=True):
    """Where a segment belongs; players pass over it.

    *gap* says what is missing before it, and *alternate* that it begins within a full-screen
    program: what stood under that is not known.
    """

    format: int = FORMAT
    instance: str
    segment: int
    started_at: str
    monotonic_ns: int
    alternate: bool = False
    gap: str | None = None


class Header(Struct, frozen=True, kw_only=True):
    """The first line."""

    version: int = VERSION
    term: Term
    timestamp: int
    title: str
    tags: tuple[str, ...] = ("agent-pty",)
    agent_pty: Origin


class CastEvent(Struct, frozen=True, array_like=True):
    """One line: seconds since the event before, what it is, and its text."""

    interval: float
    code: str
    data: str


def header_line(header: Header) -> bytes:
    """Return the first line of a segment."""
    return msgspec.json.encode(header) + b"\n"


class CastClock:
    """Turns times into intervals, and rounds so that the sum of them does not drift."""

    def __init__(self, started_ns: int) -> None:
        self._last = started_ns // _MICROSECOND

    def line(self, at_ns: int, code: Code, data: str) -> bytes:
        """Return the line of an event; times never go back."""
        now = max(self._last, at_ns // _MICROSECOND)
        interval, self._last = (now - self._last) / 1e6, now
        return msgspec.json.encode(CastEvent(interval, code, data)) + b"\n"


def parsed_header(line: bytes) -> Header:
    """Read the first line of a segment."""
    try:
        header = msgspec.json.decode(line, type=Header)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadCast(f"it has no header of a recording: {error}") from error
    if header.version != VERSION or header.agent_pty.format > FORMAT:
        raise BadCast(f"it has format {header.agent_pty.format}, this program knows up to {FORMAT}")
    return header


class CastReader:
    """Follows the lines after a header, and says when each was."""

    def __init__(self, started_ns: int) -> None:
        self._elapsed = 0
        self._started = started_ns

    def event(self, line: bytes) -> tuple[int, str, str]:
        """Return time, code and text of a line."""
        try:
            found = msgspec.json.decode(line, type=CastEvent)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadCast(f"a line of it is no event: {error}") from error
        # Whole microseconds are added up: a sum of fractions would drift.
        self._elapsed += round(found.interval * 1e6) * _MICROSECOND
        return self._started + self._elapsed, found.code, found.data


def size_text(*, rows: int, cols: int) -> str:
    """Return the text of a resize.

    >>> size_text(rows=24, cols=80)
    '80x24'
    """
    return f"{cols}x{rows}"


def parsed_size(text: str) -> tuple[int, int]:
    """Return rows and columns of a resize.

    >>> parsed_size("80x24")
    (24, 80)
    """
    cols, _, rows = text.partition("x")
    if not (cols.isdigit() and rows.isdigit()):
        raise BadCast(f"{text!r} is no size")
    return int(rows), int(cols)


def wall_seconds(header: Header, at_ns: int, started: float) -> float:
    """Return the wall-clock time of a moment; *started* is that of the segment's beginning."""
    return started + (at_ns - header.agent_pty.monotonic_ns) / _SECOND


def journal_mark(line: bytes) -> dict[str, Any] | None:
    """Return what an event of a journal says of the recording, if it says something."""
    if b'"type":"recording' not in line:
        return None
    try:
        payload = msgspec.json.decode(line)["kind"]["payload"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return None
    mine = isinstance(payload, dict) and str(payload.get("type")).startswith("recording")
    return payload if mine else None
