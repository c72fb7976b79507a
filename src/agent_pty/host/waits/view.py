"""What a wait may look at: text and screen since the last input, without its echo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_pty.core.echo import fresh_lines, without_echo
from agent_pty.core.prompt import looks_like_prompt
from agent_pty.host.terminal.output import TerminalOutput

# Text since the input is searched whole while it is short. Later only what is new is searched,
# with this much before it, so that a pattern over a few lines is still seen.
WHOLE = 64 * 1024
OVERLAP = 16 * 1024
STEP = 256 * 1024

_LONGEST_CHARACTER = 4
_UNKNOWN = "\ufffd"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPoint:
    """The last input: where the text was, what was typed, what the screen showed."""

    place: int
    typed: Sequence[str] = ()
    entered: bool = False
    marks_seen: int = 0
    screen: Sequence[str] = ()


def point_now(output: TerminalOutput, *, typed: Sequence[str], entered: bool) -> InputPoint:
    """Return the point of an input that is given now."""
    return InputPoint(
        place=output.log.committed + len(output.transcript.pending),
        typed=typed,
        entered=entered,
        marks_seen=output.marks_seen,
        screen=output.emulator.text().split("\n"),
    )


class TextView:
    """Text from *start* to *end* (None: to now), as a wait since one input sees it."""

    def __init__(
        self, output: TerminalOutput, point: InputPoint, *, start: int, end: int | None = None
    ) -> None:
        self._output = output
        self._point = point
        self._start = start
        self._end = end
        self._text: str | None = None

    @property
    def text(self) -> str:
        """Text of this stretch, without the echo if the echo can be in it."""
        if self._text is None:
            text = self._raw()
            whole = self._start <= self._point.place
            self._text = without_echo(text, self._point.typed) if whole else text
        return self._text

    @property
    def before(self) -> str:
        """The character before this stretch on the same line; empty at the start of a line."""
        log, start = self._output.log, self._start
        if start < log.first:
            return _UNKNOWN  # what preceded the oldest text is gone
        near = max(log.first, start - _LONGEST_CHARACTER)
        return self._decoded(near, start)[-1:].strip("\n")

    @property
    def after(self) -> str:
        """The character after this stretch on the same line; empty where the line ends so far."""
        if self._end is None:
            return ""
        return self._decoded(self._end, self._end + _LONGEST_CHARACTER)[:1].strip("\n")

    def _decoded(self, start: int, end: int) -> str:
        """Return the text between two places, the unfinished line included."""
        log = self._output.log
        data = log.read(start, end - start).text
        pending = self._output.transcript.pending
        data += pending[max(0, start - log.committed) : max(0, end - log.committed)]
        return data.decode(errors="replace")

    def _raw(self) -> str:
        log = self._output.log
        stop = log.committed if self._end is None else self._end
        data = log.read(self._start, max(0, stop - self._start)).text
        if self._end is None:
            # The input may lie within the unfinished line: what stood before it is not new.
            data += self._output.transcript.pending[max(0, self._start - log.committed) :]
        return data.decode(errors="replace")

    @property
    def screen(self) -> str:
        """Lines of the screen that were not there at the input, without the echo."""
        now = self._output.emulator.text().split("\n")
        return without_echo("\n".join(fresh_lines(self._point.screen, now)), self._point.typed)

    @property
    def at_prompt(self) -> bool:
        """Whether the unfinished line is a prompt that came after the input."""
        output = self._output
        if output.transcript.alternate:
            return False
        last = output.last_mark
        if last is not None and output.marks_seen > self._point.marks_seen:
            return last.mark.kind == "B"
        if self._point.entered and output.log.committed <= self._point.place:
            return False
        return looks_like_prompt(output.transcript.pending.decode(errors="replace"))


def prompt_is_marked(output: TerminalOutput, point: InputPoint) -> bool:
    """Whether a mark says that the program is at its prompt, not only the look of the line."""
    last = output.last_mark
    if last is None or last.mark.kind != "B":
        return False
    # Not every program marks the beginning of a command: after Enter only a new mark counts.
    return output.marks_seen > point.marks_seen or not point.entered


def window(output: TerminalOutput, point: InputPoint, seen: int) -> int:
    """Return where to search from, when everything before *seen* was searched already."""
    end = output.log.committed
    if end - point.place <= WHOLE:
        return point.place
    start = max(point.place, seen - OVERLAP)
    before = output.log.read(start, min(OVERLAP, end - start))
    # Whole lines: half of one could be mistaken for something else.
    newline = before.text.find(b"\n")
    return before.place + newline + 1 if newline >= 0 else before.place
