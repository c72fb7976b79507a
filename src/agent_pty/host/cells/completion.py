"""How the end of a cell is known: the ladder (marks, then the terminal's state), or as asked for.

Each has the same shape: `output` is fed with the marks of a batch, `looked` with a look at the
terminal; both answer None for "not yet".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent_pty.core.repeat import ENTERS, before_prompts, echoed_enters
from agent_pty.core.tty_state import Verdict
from agent_pty.host.cells.capture import Sheet
from agent_pty.host.cells.cell import Output, Result
from agent_pty.host.cells.foreground import Look
from agent_pty.host.cells.hook import Hook
from agent_pty.host.terminal.output import Marked

INCOMPLETE = "incomplete input"
# Where it cannot be seen who reads, a line that stands still for so many looks has to do.
_STILL = 8
_REPEAT_WITHIN = 1024 * 1024


class Frame(Protocol):
    """What decides the end of one cell."""

    def output(self, marks: Sequence[Marked]) -> Result | None:
        """The program wrote something."""

    def looked(self, verdict: Verdict, look: Look, same: int) -> Result | None:
        """The terminal was looked at; the verdict is the *same* as in so many looks before."""

    def close(self) -> None:
        """The cell is over."""


def frame_of(sheet: Sheet) -> Frame:
    """Return what decides the end of a cell, from how it was asked for."""
    kind, _, argument = sheet.cell.frame.partition(":")
    if kind == "exact":
        return Exact(sheet, argument)
    if kind == "hook":
        return Hook(sheet, argument)
    return Repeat(sheet) if kind == "repeat" else Ladder(sheet)


class Ladder:
    """Marks if the program sends them, else the prompt of whoever reads the keyboard."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet

    def output(self, marks: Sequence[Marked]) -> Result | None:
        """A mark that the command ended is the end, whoever was in front in between."""
        self._sheet.note(marks)
        for one in marks:
            if one.mark.kind == "D":
                output = self._sheet.upto(one.place, one.line)
                return self._sheet.done(output, "marks", code=one.mark.code)
        return None

    def looked(self, verdict: Verdict, look: Look, same: int) -> Result | None:
        """A prompt without a mark ends a command in a program that has no marks."""
        if self._sheet.cell.incomplete and verdict is not Verdict.BUSY and look.seat.own:
            return self._sheet.failed(INCOMPLETE, at_prompt=True)
        if verdict is not Verdict.PROMPT or same < 1:
            return None
        # Another program's prompt has nothing of the output before it.
        same_reader = look.sitter is not None and look.sitter.pid == self._sheet.cell.reader
        prompt = self._sheet.cell.prompt if same_reader else None
        return self._sheet.done(self._sheet.before_prompt(prompt), "tty")

    def close(self) -> None:
        """Nothing is held."""


class Exact:
    """The end is the given prompt, on the unfinished line of a program that reads."""

    def __init__(self, sheet: Sheet, prompt: str) -> None:
        self._sheet = sheet
        self._prompt = prompt.strip()

    def output(self, marks: Sequence[Marked]) -> Result | None:
        """Text alone is no proof: a program may print its prompt and go on."""
        self._sheet.note(marks)
        return None

    def looked(self, verdict: Verdict, look: Look, same: int) -> Result | None:
        """The prompt stands there and somebody reads."""
        reads = verdict is not Verdict.BUSY or same >= _STILL
        if not reads or not look.seat.line.rstrip().endswith(self._prompt):
            return None
        return self._sheet.done(self._sheet.before_prompt(self._prompt), "exact")

    def close(self) -> None:
        """Nothing is held."""


class Repeat:
    """The end is the prompt of before, five times more: behind the code stand five Enters."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet

    def output(self, marks: Sequence[Marked]) -> Result | None:
        """Wait until it stands still: prompts come one by one."""
        self._sheet.note(marks)
        return None

    def looked(self, verdict: Verdict, look: Look, same: int) -> Result | None:
        """Count the prompts at the end."""
        del look
        if verdict is Verdict.BUSY and same < _STILL:
            return None
        sheet = self._sheet
        start = sheet.start
        if sheet.cell.line_mode:
            start += echoed_enters(sheet.read(start, ENTERS).decode(errors="replace"))
        begin = max(start, sheet.end - _REPEAT_WITHIN)
        data = sheet.read(begin, _REPEAT_WITHIN)
        if begin > start:  # with a whole line, and so with a whole character
            begin += data.find(b"\n") + 1
            data = data[data.find(b"\n") + 1 :]
        text = (data + sheet.line).decode(errors="replace")
        kept = before_prompts(text, sheet.cell.prompt)
        if kept is None:
            return None
        # Cut within the text: what follows is prompts.
        cut = begin + len(kept.encode())
        tail = sheet.line[: max(0, cut - sheet.end)]
        return sheet.done(Output(start=start, end=min(cut, sheet.end), tail=tail), "repeat")

    def close(self) -> None:
        """Nothing is held."""
