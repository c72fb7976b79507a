"""The output of one cell: where it begins in the transcript, and how far it has come."""

from __future__ import annotations

from collections.abc import Sequence

from agent_pty.core.cell_text import echo_end, paste_end, unechoed, without_prompt
from agent_pty.core.mark import PlacedMark
from agent_pty.host.cells.cell import CellStart, Result
from agent_pty.host.cells.output_range import OutputRange
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.ops.cell_model import CompletedBy, Status

_ECHO_WITHIN = 64 * 1024
# Why an exit code is unknown although the program reports exit codes.
_MISSED = "its end was missed, because nobody could read the terminal then"
# The program of the session has ended, and the cell with it.
EXITED = "exited"
# Echoes of several lines are searched for in no more text than this.
_UNECHOED = 1024 * 1024


class Capture:
    """What a cell's program wrote since its code was typed."""

    def __init__(self, start: CellStart, output: TerminalOutput) -> None:
        self.cell = start
        self._output = output
        self._begin: int | None = None  # where output begins, once a mark or the echo says so

    @property
    def line(self) -> bytes:
        """The unfinished line."""
        return self._output.transcript.pending

    @property
    def end(self) -> int:
        """Where the unfinished line begins."""
        return self._output.log.committed

    @property
    def start(self) -> int:
        """Where output begins: at the mark that says so, else after the echo of the line."""
        if self._begin is not None:
            return self._begin
        cell = self.cell
        data = self.read(cell.typed, _ECHO_WITHIN)
        if cell.echoed and b"\n" not in data:
            return self.end + len(self.line)
        typed = cell.lines[0] if cell.lines else ""
        begin = cell.typed + echo_end(data, typed, echoed=cell.echoed)
        if begin > cell.typed or not cell.glued:
            return begin
        # A line editor may have drawn its line again, at the left margin, over that output.
        redrawn = cell.typed - cell.glued
        end = echo_end(self.read(redrawn, _ECHO_WITHIN), typed, echoed=cell.echoed)
        return redrawn + end if end else begin

    @property
    def begun(self) -> bool:
        """Whether it is known where output begins, as well as it will be."""
        return self._begin is not None or not self.cell.begins

    @property
    def answered(self) -> bool:
        """Whether anything was written since the code was typed, if only the echo of it.

        What is typed into a relay may be on its way for a while, and the old prompt stands there.
        """
        written = self.end + len(self.line)
        return written != self.cell.typed or self.line.decode(errors="replace") != self.cell.prompt

    def read(self, start: int, limit: int) -> bytes:
        """Return finished lines from a place on."""
        return self._output.log.read(start, limit).text

    def note(self, marks: Sequence[PlacedMark]) -> None:
        """Learn from the first mark that says so where output begins."""
        for one in marks:
            if one.mark.kind == "C" and self._begin is None:
                self._begin = one.place + len(one.line)

    def upto(self, end: int, line: bytes = b"") -> OutputRange:
        """Return the output before *end* and then *line*; a last newline is not part of it."""
        if self._begin is None and len(self.cell.lines) > 1:
            return self._unechoed(end, line)
        start = self.start
        if start >= end:
            return OutputRange(start=end, end=end, tail=line[start - end :])
        if not line and self.read(end - 1, 1) == b"\n":
            end -= 1
        return OutputRange(start=start, end=end, tail=line)

    def before_prompt(self, prompt: str | None = None) -> OutputRange:
        """Return the output up to now, without the unfinished line, which ends in a prompt.

        With *prompt*, the one that stood there before the cell, output may stand before it on
        the same line. The prompt of another program has nothing before it.
        """
        rest = without_prompt(self.line, prompt) if prompt is not None else b""
        return self.upto(self.end, rest)

    def _unechoed(self, end: int, line: bytes) -> OutputRange:
        """Several lines were typed, and no mark says where their echo ends: search for it."""
        length = end - self.cell.typed
        text = self.read(self.cell.typed, min(_UNECHOED, length)).decode(errors="replace")
        begin = paste_end(text, self.cell.lines)
        if begin or length > _UNECHOED:
            self._begin = self.cell.typed + len(text[:begin].encode())
            return self.upto(end, line)
        kept = unechoed(text + line.decode(errors="replace"), self.cell.lines)
        return OutputRange(start=0, end=0, tail=kept.removesuffix("\n").encode())

    def so_far(self) -> OutputRange:
        """Return the output as far as it has come."""
        return self.upto(self.end, self.line)

    def length(self) -> int:
        """Return how many bytes the output has by now, with a last newline if it has one."""
        if self.line:
            return self.so_far().size
        # With a line after it, a newline is not the last character and so is kept.
        return self.upto(self.end, b"|").size - 1

    def _before_question(self) -> OutputRange:
        """Return the output of what ran before the program asked for more; else there is none."""
        ran = self._begin is not None
        return self.upto(self.end) if ran else OutputRange(start=0, end=0)

    def marked(self, placed: PlacedMark) -> Result:
        """Return the result of a cell that has ended by its mark, or before a later one."""
        number, begun = placed.mark.number, self.cell.number
        # Prompts are counted: if this is not the next, the mark is that of another command.
        missed = number is not None and begun is not None and number > begun + 1
        code = None if missed else placed.mark.code
        return self.done(self.upto(placed.place, placed.line), "marks", code=code, missed=missed)

    def done(
        self,
        output: OutputRange,
        frame: CompletedBy,
        *,
        code: int | None = None,
        missed: bool = False,
    ) -> Result:
        """Return the result of a cell that ended by itself; *missed*: nobody has read its end."""
        unknown = code is None and self.cell.exit_codes
        missed = missed or self._output.marks_missed
        return Result(
            cell_id=self.cell.cell_id,
            status=Status.DONE,
            output=output,
            frame=frame,
            exit_code=code,
            exit_code_unknown=unknown,
            hint=_MISSED if unknown and missed else None,
        )

    def failed(self, error: str, *, code: int | None = None, at_prompt: bool = False) -> Result:
        """Return another result; what was written until then is kept."""
        return Result(
            cell_id=self.cell.cell_id,
            status=Status.ERROR,
            output=self._before_question() if at_prompt else self.so_far(),
            frame=None,
            error=error,
            exit_code=code,
            exit_code_unknown=code is None and error == EXITED,
        )
