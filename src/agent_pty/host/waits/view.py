"""What a wait may look at: text and screen since the last input, without its echo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_pty.core.echo import fresh_lines, without_echo
from agent_pty.core.prompt import looks_like_prompt
from agent_pty.host.terminal.output import Stream

# Text since the input is searched whole while it is short; later only what is new, with
# this much before it, so that a pattern over a few lines is still seen.
WHOLE = 64 * 1024
OVERLAP = 16 * 1024
STEP = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The last input: where the text was, what was typed, what the screen showed."""

    place: int
    typed: Sequence[str] = ()
    entered: bool = False
    marks_seen: int = 0
    screen: Sequence[str] = ()


class Sight:
    """One look at a stream: text from *start* to *end* (None: to now) of one mark's past."""

    def __init__(self, stream: Stream, mark: Mark, *, start: int, end: int | None = None) -> None:
        self._stream = stream
        self._mark = mark
        self._start = start
        self._end = end
        self._text: str | None = None

    @property
    def text(self) -> str:
        """Text of this stretch, without the echo if the echo can be in it."""
        if self._text is None:
            text = self._raw()
            whole = self._start <= self._mark.place
            self._text = without_echo(text, self._mark.typed) if whole else text
        return self._text

    def _raw(self) -> str:
        log = self._stream.log
        stop = log.committed if self._end is None else self._end
        data = log.read(self._start, max(0, stop - self._start)).text
        if self._end is None:
            # The mark may lie within the unfinished line: what stood before it is not new.
            data += self._stream.transcript.pending[max(0, self._start - log.committed) :]
        return data.decode(errors="replace")

    @property
    def screen(self) -> str:
        """Lines of the screen that were not there at the mark, without the echo."""
        now = self._stream.emulator.text().split("\n")
        return without_echo("\n".join(fresh_lines(self._mark.screen, now)), self._mark.typed)

    @property
    def at_prompt(self) -> bool:
        """Whether the unfinished line is a prompt that came after the input."""
        stream = self._stream
        if stream.transcript.alternate:
            return False
        last = stream.last_mark
        if last is not None and stream.marks_seen > self._mark.marks_seen:
            return last.mark.kind == "B"
        if self._mark.entered and stream.log.committed <= self._mark.place:
            return False
        return looks_like_prompt(stream.transcript.pending.decode(errors="replace"))


def window(stream: Stream, mark: Mark, seen: int) -> int:
    """Return where to search from, when everything before *seen* was searched already."""
    end = stream.log.committed
    if end - mark.place <= WHOLE:
        return mark.place
    start = max(mark.place, seen - OVERLAP)
    before = stream.log.read(start, min(OVERLAP, end - start))
    # Whole lines: half of one could be mistaken for something else.
    newline = before.text.find(b"\n")
    return before.place + newline + 1 if newline >= 0 else before.place
