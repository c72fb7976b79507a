"""One cast for the player, made of the segments of a recording, with a marker for each command.

It is compressed, and bounded: what does not fit is left out between its beginning and its last
segment, which begins with the whole screen, and the bundle says so. Pure: segments are given.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from agent_pty.core.evidence.cast import CastClock, Code
from agent_pty.proof.timeline import Marker

_MOST_COMPRESSED = 1_400_000
# A browser must hold all of it.
_MOST_PLAIN = 24_000_000
_GZIP = 31
# Measured: the player takes minutes over one event of 65,520 characters, and 0.1 s if it is cut.
_LONGEST_EVENT = 4096

# Time, code and text of an event of a recording.
CastEntry = tuple[int, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CastSegment:
    """A segment: when it began, the size of the terminal, and what happened."""

    number: int
    started_ns: int
    rows: int
    cols: int
    entries: Iterable[CastEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerCast:
    """The cast in base64 of gzip; None: there is nothing to play. *problem* says what it lacks."""

    data: str | None
    problem: str | None
    markers: int = 0


def player_cast(segments: Sequence[CastSegment], markers: Sequence[Marker]) -> PlayerCast:
    """Return the cast of a whole recording, or of its two ends."""
    if not segments:
        return PlayerCast(data=None, problem="the record has no recording of the terminal")
    first = segments[0]
    cast = _Cast(first, markers)
    complete = cast.add(segments, share=0.5 if len(segments) > 1 else 1.0)
    problem = None
    if not complete and len(segments) > 1:
        last = segments[-1]
        complete = cast.resume(last)
        problem = f"too long for this page; its middle is left out, up to segment {last.number}"
        problem += "" if complete else ", and its end"
    elif not complete:
        problem = "too long for this page; its end is left out"
    return PlayerCast(data=cast.finish(), problem=problem, markers=cast.marked)


class _Cast:
    def __init__(self, first: CastSegment, markers: Sequence[Marker]) -> None:
        self._packer = zlib.compressobj(6, wbits=_GZIP)
        self._out = bytearray()
        self._clock = CastClock(first.started_ns)
        self._markers = markers
        self.marked = 0
        self._segment = 0
        self._plain = 0
        header = {"version": 3, "term": {"cols": first.cols, "rows": first.rows}}
        self._write(msgspec.json.encode(header) + b"\n")

    def _write(self, line: bytes) -> None:
        self._plain += len(line)
        self._out += self._packer.compress(line)

    def _line(self, at_ns: int, code: Code, text: str) -> None:
        self._write(self._clock.line(at_ns, code, text))

    def add(self, segments: Iterable[CastSegment], *, share: float) -> bool:
        """Add segments until a share of the room is used; return whether that was all.

        The player needs output and sizes. Input is not shown, and markers are made anew.
        """
        for segment in segments:
            self._segment = segment.number
            self._line(segment.started_ns, "r", f"{segment.cols}x{segment.rows}")
            for at_ns, code, text in segment.entries:
                self._mark_until(at_ns)
                if code == "r":
                    self._line(at_ns, "r", text)
                elif code == "o":
                    self._show(at_ns, text)
                if not self._has_room(share):
                    return False
        self._mark_until(None)
        return True

    def _show(self, at_ns: int, text: str) -> None:
        for at in range(0, len(text), _LONGEST_EVENT):
            self._line(at_ns, "o", text[at : at + _LONGEST_EVENT])

    def _has_room(self, share: float) -> bool:
        packed, plain = share * _MOST_COMPRESSED, share * _MOST_PLAIN
        return len(self._out) < packed and self._plain < plain

    def resume(self, last: CastSegment) -> bool:
        """Go on with the last segment, if it was not reached."""
        if self._segment >= last.number:
            return False
        self._line(last.started_ns, "o", "\x1bc")
        return self.add([last], share=1.0)

    def _mark_until(self, at_ns: int | None) -> None:
        """Write the markers of commands that began before a moment."""
        while self.marked < len(self._markers):
            marker = self._markers[self.marked]
            if at_ns is not None and marker.monotonic_ns > at_ns:
                return
            self._line(marker.monotonic_ns, "m", marker.label)
            self.marked += 1

    def finish(self) -> str:
        """Return everything in base64."""
        self._out += self._packer.flush()
        return base64.b64encode(self._out).decode()
