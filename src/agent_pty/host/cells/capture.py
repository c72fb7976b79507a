"""The text of one cell: where its output begins, and how far it came."""

from __future__ import annotations

from collections.abc import Sequence

from agent_pty.core.cell_text import echo_end, paste_end, unechoed, without_prompt
from agent_pty.host.cells.cell import Cell, Output, Result
from agent_pty.host.terminal.output import Marked, Stream
from agent_pty.ops.cell_model import Frame, Status

_ECHO_WITHIN = 64 * 1024
# Echoes of several lines are looked for in no more text than this.
_UNECHOED = 1024 * 1024


class Sheet:
    """What a cell's program wrote since its code was typed."""

    def __init__(self, cell: Cell, stream: Stream) -> None:
        self.cell = cell
        self._stream = stream

    @property
    def line(self) -> bytes:
        """The unfinished line."""
        return self._stream.transcript.pending

    @property
    def end(self) -> int:
        """Where the unfinished line begins."""
        return self._stream.log.committed

    @property
    def start(self) -> int:
        """Where output begins: at the mark that says so, else behind the echo of the line."""
        if self.cell.output_from is not None:
            return self.cell.output_from
        data = self.read(self.cell.typed, _ECHO_WITHIN)
        if self.cell.echoed and b"\n" not in data:
            return self.end + len(self.line)
        typed = self.cell.lines[0] if self.cell.lines else ""
        return self.cell.typed + echo_end(data, typed, echoed=self.cell.echoed)

    def read(self, start: int, limit: int) -> bytes:
        """Return finished lines from a place on."""
        return self._stream.log.read(start, limit).text

    def note(self, marks: Sequence[Marked]) -> None:
        """Learn from the first mark that says so where output begins."""
        for one in marks:
            if one.mark.kind == "C" and self.cell.output_from is None:
                self.cell.output_from = one.place + len(one.line)

    def upto(self, end: int, line: bytes = b"") -> Output:
        """Return the output before *end* and then *line*; a last newline is not part of it."""
        if self.cell.output_from is None and len(self.cell.lines) > 1:
            return self._unechoed(end, line)
        start = self.start
        if start >= end:
            return Output(start=end, end=end, tail=line[start - end :])
        if not line and self.read(end - 1, 1) == b"\n":
            end -= 1
        return Output(start=start, end=end, tail=line)

    def before_prompt(self, prompt: str | None = None) -> Output:
        """Return the output up to now, without the unfinished line, which ends in a prompt.

        Output may stand before it if *prompt* is the one of before; another one is all there is.
        """
        rest = without_prompt(self.line, prompt) if prompt is not None else b""
        return self.upto(self.end, rest)

    def _unechoed(self, end: int, line: bytes) -> Output:
        """Several lines were typed, and nothing says where their echo ends: look for it."""
        length = end - self.cell.typed
        text = self.read(self.cell.typed, min(_UNECHOED, length)).decode(errors="replace")
        begin = paste_end(text, self.cell.lines)
        if begin or length > _UNECHOED:
            self.cell.output_from = self.cell.typed + len(text[:begin].encode())
            return self.upto(end, line)
        kept = unechoed(text + line.decode(errors="replace"), self.cell.lines)
        return Output(start=0, end=0, tail=kept.removesuffix("\n").encode())

    def so_far(self) -> Output:
        """Return the output as far as it came."""
        return self.upto(self.end, self.line)

    def _before_question(self) -> Output:
        """Return the output of what ran before the program asked for more; else there is none."""
        ran = self.cell.output_from is not None
        return self.upto(self.end) if ran else Output(start=0, end=0)

    def done(self, output: Output, frame: Frame, *, code: int | None = None) -> Result:
        """Return the good end of the cell."""
        return Result(
            cell_id=self.cell.id, status=Status.DONE, output=output, frame=frame, exit_code=code
        )

    def failed(self, error: str, *, code: int | None = None, at_prompt: bool = False) -> Result:
        """Return another end; what was written until then is kept."""
        return Result(
            cell_id=self.cell.id,
            status=Status.ERROR,
            output=self._before_question() if at_prompt else self.so_far(),
            frame=None,
            error=error,
            exit_code=code,
        )
