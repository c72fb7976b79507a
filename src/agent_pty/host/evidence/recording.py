"""Records what a terminal shows: a listener that writes asciicast segments, without secrets.

Rule of this file: output that is in no segment is counted and said in the journal, as a gap.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent_pty.core.evidence import event as evidence
from agent_pty.core.evidence.cast import (
    CastClock,
    Code,
    Header,
    Origin,
    Term,
    header_line,
    size_text,
)
from agent_pty.core.evidence.cast_stream import CastStream, Entry
from agent_pty.core.short_code import shortened
from agent_pty.host import events
from agent_pty.host.evidence.packing import Packing
from agent_pty.host.evidence.repaint import repaint
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.ops.model import Spec
from agent_pty.store import recording as files
from agent_pty.store.recording import SegmentFile

_SEGMENT_BYTES = 4_000_000
_SMALLEST_SEGMENT = 64_000
_SEGMENTS_IN_BUDGET = 8
# What was written is covered by the journal at least that often.
_NOTE_SECONDS = 10.0
_RETRY_NS = 1_000_000_000
# Resizes and markers that may wait for the end of a line.
_MOST_WAITING = 4096
# Before the place from which a new host goes on, its redactor reads so much: a private key that
# began there is still one.
_CONTEXT = 65_536

# Writes an event with the numbers of secrets that were covered.
Note = Callable[[evidence.Action, dict[str, int]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a recording is, and how large all of it may become."""

    directory: str
    budget: int

    @property
    def segment_bytes(self) -> int:
        """How large a segment becomes before the next one begins."""
        share = self.budget // _SEGMENTS_IN_BUDGET
        return max(_SMALLEST_SEGMENT, min(_SEGMENT_BYTES, share))

    @property
    def most_plain(self) -> int:
        """How many finished segments may wait to be compressed: a quarter of the budget."""
        return self.budget // self.segment_bytes // 4


class Recording:
    """The recording of one session; *clean* takes the secrets out of a text."""

    def __init__(
        self,
        spec: Spec,
        output: TerminalOutput,
        place: Place,
        *,
        known: tuple[bytes, ...],
        note: Note,
        clean: Callable[[str], str],
    ) -> None:
        self._spec = spec
        self._output = output
        self._place = place
        self._known = known
        self._note = note
        self._clean = clean
        self._stream = CastStream(known)
        self._file: SegmentFile | None = None
        self._clock = CastClock(0)
        self._noted = 0
        self._timer: asyncio.TimerHandle | None = None
        self._packing = Packing(place.most_plain, self._packed)
        # While nothing can be written: why, since when, and how much output is missing.
        self._trouble: str | None = None
        self._retry_ns = 0
        self._missing = 0
        self._ended = False

    @property
    def trouble(self) -> str | None:
        """Why nothing is recorded now; None: it is."""
        return self._trouble

    def pending(self) -> list[Entry]:
        """Return what happened and is in no file yet, as it will be if nothing follows."""
        return self._stream.pending()

    # -- the beginning

    def start(self, *, recovered: bool) -> None:
        """Begin, or go on where a dead host stopped."""
        try:
            gap = self._go_on() if recovered else None
            self._begin(gap=gap)
        except OSError as error:
            self._fail(0, error)

    def _go_on(self) -> str | None:
        """End what a dead host had begun; return what is missing."""
        last = files.segments(self._place.directory)[-1:]
        if not last:
            reason = "what was shown before was not recorded"
            self._note(evidence.RecordingGap(bytes=None, reason=reason), {})
            return reason
        for one in files.segments(self._place.directory)[:-1]:
            if not one.compressed:
                self._packing.add(one.path, one.size)
        if not last[0].compressed:
            self._end_segment_of_dead_host(last[0].number)
        return None

    def _end_segment_of_dead_host(self, number: int) -> None:
        """Add what the terminal wrote and the dead host did not record, and seal the segment."""
        self._file = SegmentFile.take_up(self._place.directory, number)
        last_ns = files.last_moment(self._place.directory, number)
        self._clock = CastClock(last_ns)
        start = self._output.recorded
        begin, raw = self._output.raw(start - _CONTEXT)
        self._stream.output(0, raw[: max(0, start - begin)])
        self._stream.flush()
        if begin > start:
            missing = begin - start
            self._note(evidence.RecordingGap(bytes=missing, reason="the host died"), {})
        now = time.monotonic_ns()
        rest = self._stream.output(now, raw[max(0, start - begin) :]) + self._stream.flush()
        self._append(rest)
        self._seal()

    def _begin(self, *, gap: str | None = None) -> None:
        """Begin the next segment with the screen as it is now."""
        there = files.segments(self._place.directory)
        number = there[-1].number + 1 if there else 1
        now, emulator = time.monotonic_ns(), self._output.emulator
        wall = dt.datetime.now(dt.UTC)
        header = Header(
            term=Term(cols=emulator.cols, rows=emulator.rows),
            timestamp=int(wall.timestamp()),
            title=self._clean(self._spec.name),
            agent_pty=Origin(
                instance=self._spec.instance,
                segment=number,
                started_at=wall.isoformat(timespec="microseconds").replace("+00:00", "Z"),
                monotonic_ns=now,
                alternate=emulator.alternate,
                gap=gap,
            ),
        )
        clock = CastClock(now)
        lines = header_line(header)
        if number > 1 or gap is not None:
            lines += clock.line(now, "o", repaint(emulator, self._known))
        self._file = SegmentFile.create(self._place.directory, number, lines)
        self._clock, self._noted = clock, 0

    # -- what happens

    def notice(self, event: events.Event | events.Signal) -> None:
        """Record what the terminal shows, and what a player can jump to."""
        if isinstance(event, events.Batch):
            self._write_output(event.data)
        elif isinstance(event, events.Resized):
            self._happened("r", size_text(rows=event.rows, cols=event.cols))
        elif isinstance(event, events.CellBegan):
            self._happened("m", self._clean(shortened(event.code)))
        elif isinstance(event, events.Notify):
            self._happened("m", self._clean(event.message))
        elif isinstance(event, events.Exited):
            self._finish(event.exit_code)

    def typed(self, text: bytes) -> None:
        """Record input; it has no secrets any more."""
        self._happened("i", text.decode("utf-8", "replace"))

    def _write_output(self, data: bytes) -> None:
        before = self._trouble
        entries = self._stream.output(time.monotonic_ns(), data)
        if before is None:
            self._write(entries)
        else:
            self._missing += len(data)
            self._retry()
        if self._trouble is None:
            # What we undo on the screen ourselves is held back, too, but was never written there.
            self._output.note_recorded(max(0, self._output.written - self._stream.held))

    def _happened(self, code: Code, text: str) -> None:
        if self._trouble is None and not self._ended:
            self._write(self._stream.other(Entry(time.monotonic_ns(), code, text)))
            if self._stream.waiting > _MOST_WAITING:
                self._write(self._stream.flush())

    def _write(self, entries: list[Entry]) -> None:
        if not entries:
            return
        try:
            self._append(entries)
            if self._is_full():
                self._write_rest_and_rotate()
        except OSError as error:
            self._fail(sum(len(one.text.encode()) for one in entries if one.code == "o"), error)

    def _append(self, entries: list[Entry]) -> None:
        if self._file is None:  # after the end of the program
            return
        self._file.append(
            b"".join(self._clock.line(one.at_ns, one.code, one.text) for one in entries)
        )
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_NOTE_SECONDS, self._note_progress)

    def _is_full(self) -> bool:
        """Whether the next segment is due; it begins between two lines if they are not too long."""
        size = self._file.size if self._file is not None else 0
        limit = self._place.segment_bytes
        between = not self._stream.held and not self._stream.waiting
        return size >= limit if between else size >= 2 * limit

    def _write_rest_and_rotate(self) -> None:
        self._append(self._stream.flush())
        self._seal()
        self._begin()

    # -- what the journal says of it

    def cover(self) -> None:
        """Let the journal cover all that was written, now."""
        self._stop_timer()
        self._note_progress()

    def _note_progress(self) -> None:
        """Let the journal cover what was written so far."""
        self._timer = None
        if self._file is not None and self._file.size > self._noted:
            self._noted = self._file.size
            self._note_segment(self._file, sealed=False)

    def _note_segment(self, file: SegmentFile, *, sealed: bool) -> None:
        noted = evidence.Recording(
            segment=file.number, bytes=file.size, sha256=file.sha256, sealed=sealed
        )
        self._note(noted, self._stream.take_counts())

    def _seal(self) -> None:
        """End the segment; it is compressed beside everything else."""
        file, self._file = self._file, None
        if file is None:
            return
        self._note_segment(file, sealed=True)
        self._stop_timer()
        self._packing.add(file.path, file.size)
        self._keep_to_budget()

    def _packed(self) -> None:
        if not self._ended:
            self._keep_to_budget()

    def _keep_to_budget(self) -> None:
        surplus = files.surplus(files.segments(self._place.directory), self._place.budget)
        if not surplus:
            return
        numbers = [one.number for one in surplus]
        self._note(evidence.RecordingDropped(segments=numbers, budget=self._place.budget), {})
        for one in surplus:
            files.remove(one)

    # -- when it cannot be written

    def _fail(self, missing: int, error: OSError) -> None:
        """Stop to record, and count what is missing from now on."""
        self._trouble = error.strerror or str(error)
        self._missing += missing
        self._retry_ns = time.monotonic_ns() + _RETRY_NS
        if self._file is not None:
            # It stays as it is: there may be no room for its compressed form.
            self._note_segment(self._file, sealed=True)
            self._file = None
            self._stop_timer()

    def _retry(self) -> None:
        """Go on with a new segment, and say what is missing."""
        if time.monotonic_ns() < self._retry_ns:
            return
        reason, missing = self._trouble or "", self._missing
        try:
            self._begin(gap=f"{missing} bytes are missing before this: {reason}")
        except OSError as error:
            self._fail(0, error)
            return
        self._stream.flush()  # the screen that the segment begins with shows it
        self._trouble, self._missing = None, 0
        self._note(evidence.RecordingGap(bytes=missing, reason=reason), {})

    # -- the end

    def _finish(self, code: int | None) -> None:
        if self._trouble is not None:
            self._retry_ns = 0
            self._retry()
        rest = self._stream.flush()
        ending = [] if code is None else [Entry(time.monotonic_ns(), "x", str(code))]
        self._write([*rest, *ending])
        self._ended = True
        with contextlib.suppress(OSError):
            self._seal()
        self._packing.flush()
        self._output.note_recorded(self._output.written)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """Leave the segment to the host after us."""
        self._stop_timer()
        self._packing.close()
        self._file = None
