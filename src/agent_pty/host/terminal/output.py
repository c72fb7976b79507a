"""What one terminal wrote, understood: raw spool, emulator, transcript, in that order.

Rule of this file: a byte is in the spool before anything thinks about it, so a host that
dies anywhere is replaced by one that reads the same bytes again and comes to the same
screen and the same text.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

from agent_pty.core.mark import LineReport, Mark, MarkScanner, PlacedMark, pieces
from agent_pty.core.transcript import Transcript
from agent_pty.emulator import Emulator
from agent_pty.errors import Busy
from agent_pty.host.terminal import checkpoint
from agent_pty.host.terminal.checkpoint import Checkpoint
from agent_pty.host.terminal.cursor_line import cursor_line
from agent_pty.host.terminal.drain import Preview, drain
from agent_pty.store.ring import AHEAD, SIZE, Ring
from agent_pty.store.textlog import LogPositions, TextLog, continued_positions

# PTY reads return some 4 KiB each whatever the buffer: drain several, then think once.
_MOST_READS = 16
_LEAST_READS = 4
# One batch keeps the neighbours waiting no longer than this, or the next one is smaller.
_BATCH_SECONDS = 0.0025
# At most so many events since a checkpoint: what was published then must not have the same number.
_EVENTS_UNKNOWN = 10_000
_CHECKPOINT_AFTER = SIZE // 2 - AHEAD
# Leave the alternate screen, scroll all rows, show the cursor, no mouse, plain keys and colours.
_STRAIGHT = (
    b"\x1b[?1049l\x1b7\x1b[r\x1b8\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l"
    b"\x1b[?1l\x1b>\x1b[m"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one look at the terminal brought. *replies* go back to the program."""

    count: int
    open: bool
    data: bytes = b""
    replies: bytes = b""


class TerminalOutput:
    """One terminal's past and present: `emulator`, `transcript`, `log` and the last mark."""

    def __init__(
        self,
        directory: str,
        ring: Ring,
        emulator: Emulator,
        transcript: Transcript,
        log: TextLog,
        *,
        nonce: str,
    ) -> None:
        self.directory = directory
        self._ring = ring
        self._scanner = MarkScanner(nonce)
        self._marked: list[PlacedMark] = []
        self.last_mark: PlacedMark | None = None
        self._output_end: PlacedMark | None = None
        self.marks_seen = 0
        self.emulator = emulator
        self.transcript = transcript
        self.log = log
        self._checkpoint_raw = 0
        self._resizes = 0
        self._reads = _MOST_READS
        self._shown = 0
        self._cursors_moved = False

    @classmethod
    def create(
        cls, directory: str, ring: Ring, *, rows: int, cols: int, keep: int, nonce: str
    ) -> TerminalOutput:
        """Begin with an empty screen in an empty *directory*; *ring* is ours from now on."""
        return cls(
            directory,
            ring,
            Emulator(rows=rows, cols=cols),
            Transcript(cols=cols),
            TextLog(directory, keep=keep),
            nonce=nonce,
        )

    @classmethod
    def recover(
        cls, directory: str, ring: Ring, *, rows: int, cols: int, keep: int, nonce: str
    ) -> tuple[TerminalOutput, bytes]:
        """Go on where a dead host stopped; also return the replies it still owed the program.

        If that succeeds, *ring* is ours.
        """
        ring.recover()
        found = checkpoint.load(directory)
        if found is None:
            log = TextLog(directory, keep=keep, positions=LogPositions())
            screen, transcript = Emulator(rows=rows, cols=cols), Transcript(cols=cols)
        else:
            log = TextLog(directory, keep=keep, positions=found.positions)
            screen = Emulator.restore(found.emulator)
            transcript = Transcript.restore(found.transcript)
        output = cls(directory, ring, screen, transcript, log, nonce=nonce)
        if found is not None:
            output._scanner.resume(found.scanner)
            output.last_mark = found.last_mark
        return output, output._replay(found.raw if found else 0)

    @classmethod
    def continued(
        cls, directory: str, ring: Ring, *, rows: int, cols: int, keep: int, nonce: str
    ) -> TerminalOutput:
        """Go on after spool and hosts were lost, with what the files have; *ring* is ours.

        The last screen and the modes are those of the last checkpoint.
        """
        found = checkpoint.load(directory)
        positions = found.positions if found is not None else LogPositions()
        log = TextLog(directory, keep=keep, positions=continued_positions(directory, positions))
        screen = Emulator.restore(found.emulator) if found else Emulator(rows=rows, cols=cols)
        screen.resize(rows=rows, cols=cols)
        output = cls(directory, ring, screen, Transcript(cols=cols), log, nonce=nonce)
        if found is not None:
            output._scanner.resume(found.scanner)
            output.last_mark = found.last_mark
            ring.note(event=found.event + _EVENTS_UNKNOWN)
        output.checkpoint()
        return output

    def _replay(self, start: int) -> bytes:
        # Older than the spool reaches only if a full disk kept us from making a checkpoint.
        self._checkpoint_raw = start = max(start, self._ring.oldest)
        owed = bytearray()
        # Who was shown an unfinished line holds a cursor in it: a rewriting must be noticed again.
        shown = max(start, self._ring.shown)
        for begin, end in _chunks(start, {self._ring.answered, shown}, self._ring.written):
            if begin == shown:
                self._observe()
            replies = self._understand(self._ring.read(begin, end))
            if begin >= self._ring.answered:
                owed += replies
        if shown >= self._ring.written:
            self._observe()
        if self._cursors_moved:
            self.checkpoint()
        return bytes(owed)

    @property
    def spool(self) -> int:
        """The descriptor of the spool, to give a duplicate of it to the keeper."""
        return self._ring.fd

    @property
    def cursor(self) -> int:
        """Where text goes on: what is written from now on is read from here."""
        return self.log.cursor(self.log.committed) + len(self.transcript.pending)

    @property
    def version(self) -> int:
        """A number that changes whenever the screen may have."""
        return self._ring.written + self._resizes

    @property
    def input_cursor(self) -> int:
        """The cursor at the last input; it survives a host."""
        return self._ring.input_cursor

    def note_input(self) -> None:
        """Remember that input is about to be given."""
        self._ring.note(input_cursor=self.cursor)
        self.show()

    def show(self) -> None:
        """Note that somebody was shown the unfinished line, or a cursor behind it."""
        self._ring.note(shown=self._ring.written)
        self._observe()

    def _observe(self) -> None:
        self.transcript.observe()
        self._shown = len(self.transcript.pending)

    def take(self, fd: int) -> Taken:
        """Read what the terminal has, a bounded batch, and understand it."""
        begun = time.monotonic()
        preview = Preview(self.emulator, over=self._scanner.within)
        count, still_open = drain(fd, self._ring.room(), self._reads, preview.show)
        if not count:
            return Taken(count=0, open=still_open)
        start = self._ring.written
        self._ring.commit(count)
        data = self._ring.read(start, start + count)
        replies = self._understand(data, shown=preview.shown)
        if self._cursors_moved or self._ring.written - self._checkpoint_raw > _CHECKPOINT_AFTER:
            self.checkpoint()
        self._pace(time.monotonic() - begun)
        return Taken(count=count, open=still_open, data=data, replies=replies)

    def _pace(self, took: float) -> None:
        """Choose the next batch's size: what costs more per byte is taken in smaller bites."""
        if took > _BATCH_SECONDS:
            self._reads = max(_LEAST_READS, self._reads // 2)
        elif took < _BATCH_SECONDS / 2:
            self._reads = min(_MOST_READS, self._reads * 2)

    @property
    def written(self) -> int:
        """How many bytes the terminal has written."""
        return self._ring.written

    def acknowledge(self, place: int) -> None:
        """Note that the replies to everything before byte *place* have been given."""
        self._ring.acknowledge(place)

    @property
    def event_number(self) -> int:
        """The number of the session's last event; it survives a host."""
        return self._ring.event

    def note_event(self, number: int) -> None:
        """Remember the number of an event."""
        self._ring.note(event=number)

    @property
    def typed(self) -> tuple[int, bytes]:
        """Input whose line has not ended: its length, and its end; both survive a host."""
        return self._ring.typed

    @property
    def key_lines(self) -> int:
        """How many lines a private key may still have that is being typed; it survives a host."""
        return self._ring.key_lines

    def note_typed(self, held: bytes, key_lines: int) -> None:
        """Remember input whose line has not ended, and that it may be inside a private key."""
        self._ring.note_typed(held)
        self._ring.note(key_lines=key_lines)

    @property
    def memory(self) -> bytes | None:
        """What the gate remembered last; it survives a host. Empty: nothing. None: it is lost."""
        return self._ring.memory

    def remember(self, data: bytes) -> None:
        """Keep what the gate remembers, in memory: it may have secrets."""
        self._ring.remember(data)

    @property
    def recorded(self) -> int:
        """How many bytes the recording has; it survives a host."""
        return self._ring.recorded

    def note_recorded(self, place: int) -> None:
        """The recording has everything before byte *place*."""
        self._ring.note(recorded=place)

    def raw(self, start: int) -> tuple[int, bytes]:
        """Return what the terminal wrote from byte *start* on, or from the oldest that is kept."""
        start = min(max(start, self._ring.oldest), self._ring.written)
        return start, self._ring.read(start, self._ring.written)

    def _understand(self, data: bytes, *, shown: int = 0) -> bytes:
        """Take in *data*, whose first *shown* bytes the emulator has seen."""
        replies = bytearray()
        for piece, mark in pieces(data, self._scanner.feed(data)):
            self.emulator.feed(memoryview(piece)[shown:])
            shown = 0  # what was shown early has no mark in it, so it was all in the first piece
            replies += self.emulator.take_replies()
            self._transcribe(piece)
            if mark is not None:
                self._place(mark)
                if mark.kind == "D":
                    replies.clear()  # who asked has ended; the shell would take it for typing
        return bytes(replies)

    def _transcribe(self, data: bytes) -> None:
        line = self.log.committed
        self.log.append(self.transcript.feed(data))
        if self._shown:
            self._follow_shown(line)

    def _place(self, mark: Mark) -> None:
        """Note where a mark stands; D stands where E did, if the output ended there."""
        if mark.kind in "BD":
            self.transcript.at_prompt()
        placed = PlacedMark(mark=mark, place=self.log.committed, line=self.transcript.pending)
        if mark.kind == "E":
            self._output_end = placed
            return
        end = self._output_end
        if mark.kind == "D" and end is not None:
            code = end.mark.code if mark.code is None else mark.code
            mark = Mark(kind="D", number=mark.number, code=code)
            placed = PlacedMark(mark=mark, place=end.place, line=end.line)
        self._output_end = None
        self.last_mark = placed
        self.marks_seen += 1
        self._marked.append(placed)

    @property
    def marks_missed(self) -> bool:
        """Whether output was lost and no prompt was marked since; it survives a host."""
        return self._scanner.missed

    def take_reports(self) -> list[LineReport]:
        """Return what the shell has said of its line since the last call."""
        return self._scanner.take_reports()

    def take_forged(self) -> int:
        """Return how many marks with a wrong secret came since the last call."""
        return self._scanner.take_forged()

    def straighten(self) -> bytes:
        """Undo what a program that was killed left set; return it, for other screens to do too.

        It is not in the spool, so a checkpoint has to remember it.
        """
        self._understand(_STRAIGHT)
        self._resizes += 1
        self.checkpoint()
        return _STRAIGHT

    def repaint(self, screen: bytes) -> bytes:
        """Show another screen after output was lost; return it, for other screens to show too.

        The transcript begins a new line, with what stands on that of the cursor. The marks from
        before say nothing of the program as it is now. Like `straighten` this is not in the spool.
        """
        self._understand(b"\x18")  # CAN ends an escape sequence whose end was lost
        self._transcribe(b"\x1b[?1049l")
        self._transcribe(b"\r\n" if self.transcript.pending else b"")
        self.emulator.feed(screen)
        self.emulator.take_replies()
        if screen:
            self._transcribe(cursor_line(self.emulator))
        self._scanner.miss()
        self.last_mark = self._output_end = None
        self._resizes += 1
        self.checkpoint()
        return screen

    def take_marks(self) -> list[PlacedMark]:
        """Return the marks that came since the last call, in order."""
        marked, self._marked = self._marked, []
        return marked

    def _follow_shown(self, line: int) -> None:
        if self.transcript.superseded:
            self.log.supersede(line, self._shown)
            self._cursors_moved = True
            self._shown = 0
        elif self.log.committed > line:
            self._shown = 0

    def resize(self, *, rows: int, cols: int) -> None:
        """Change the size; a replay from before would wrap differently, so make a checkpoint."""
        self._resizes += 1
        self.emulator.resize(rows=rows, cols=cols)
        self.transcript.resize(cols=cols)
        self.checkpoint()

    def checkpoint(self) -> None:
        """Save what was understood; if the disk is full, go on and have less to recover from."""
        self._checkpoint_raw = self._ring.written
        self._cursors_moved = False
        try:
            understood = Checkpoint(
                raw=self._ring.written,
                emulator=self.emulator.snapshot(),
                transcript=self.transcript.state(),
                positions=self.log.positions(),
                scanner=self._scanner.state,
                last_mark=self.last_mark,
                event=self._ring.event,
            )
            checkpoint.save(self.directory, understood)
        except (OSError, Busy):  # Busy: within an escape sequence of more than a megabyte
            return

    def close(self) -> None:
        """Free memory and descriptors; the files stay."""
        self.log.close()
        self.emulator.close()
        self._ring.close()


def _chunks(start: int, borders: set[int], end: int) -> list[tuple[int, int]]:
    """Cut a stretch of the stream into batches, none of them across one of *borders*."""
    within = {border for border in borders if start < border < end}
    cuts = sorted({*range(start, end, AHEAD), end, *within})
    return [(begin, stop) for begin, stop in itertools.pairwise(cuts) if stop > begin]
