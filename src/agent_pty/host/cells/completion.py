"""How the end of a cell is known: by the ladder (marks, then the terminal's state), or as asked.

Each has the same shape: `output` is fed with the marks of a batch, `observed` with an observation
of the foreground; both answer None for "not yet".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent_pty.core.certainty import prompt_after
from agent_pty.core.mark import PlacedMark
from agent_pty.core.repeat import ENTERS, before_prompts, echoed_enters
from agent_pty.core.tty_state import Verdict
from agent_pty.host.cells.capture import Capture
from agent_pty.host.cells.cell import CellStart, Result
from agent_pty.host.cells.foreground import Foreground
from agent_pty.host.cells.hook import Hook
from agent_pty.host.cells.output_range import OutputRange

INCOMPLETE = "incomplete input"
# Where it cannot be seen who reads, a line that has not changed for so many observations counts.
_STILL = 8
_REPEAT_WITHIN = 1024 * 1024


class Completion(Protocol):
    """What decides the end of one cell."""

    def output(self, marks: Sequence[PlacedMark]) -> Result | None:
        """The program wrote something."""

    def observed(self, verdict: Verdict, seen: Foreground, same: int) -> Result | None:
        """The foreground was observed; the verdict was the *same* so many times before."""

    def close(self) -> None:
        """The cell is over."""


def is_ladder(frame: str) -> bool:
    """Whether nobody asked for another way to know the end."""
    return frame.partition(":")[0] not in ("exact", "hook", "repeat")


def completion_of(capture: Capture, *, marks_exit: bool = False) -> Completion:
    """Return what decides the end of a cell, from how it was asked for.

    *marks_exit*: the program marks the end of `exit`, so only its next prompt shows that it lives.
    """
    kind, _, argument = capture.cell.frame.partition(":")
    if kind == "exact":
        return Exact(capture, argument)
    if kind == "hook":
        return Hook(capture, argument)
    return Repeat(capture) if kind == "repeat" else Ladder(capture, marks_exit=marks_exit)


def prompt_before(cell: CellStart, seen: Foreground) -> str | None:
    """Return the prompt at which the code was typed, None if another program reads now.

    The prompt of another program has no output before it on its line.
    """
    same = seen.reader is not None and seen.reader.pid == cell.reader
    return cell.prompt if same else None


class Ladder:
    """Marks if the program sends them, else the prompt of the program that reads the keyboard."""

    def __init__(self, capture: Capture, *, marks_exit: bool = False) -> None:
        self._capture = capture
        self._marks_exit = marks_exit
        self._incomplete = False  # the last mark was a continuation prompt
        self._ended: Result | None = None  # by its mark, but the program may have ended with it

    def output(self, marks: Sequence[PlacedMark]) -> Result | None:
        """A mark that the command ended is the end, whatever was in the foreground meanwhile."""
        self._capture.note(marks)
        if marks:
            self._incomplete = marks[-1].mark.kind == "P"
        for one in marks:
            if self._ended is not None and one.mark.kind == "B":
                return self._ended
            if self._ended is None and one.mark.kind == "D":
                self._ended = self._capture.marked(one)
                if not self._marks_exit:
                    return self._ended
        return None

    def observed(self, verdict: Verdict, seen: Foreground, same: int) -> Result | None:
        """A prompt without a mark ends a command in a program that has no marks."""
        if self._ended is not None:
            return self._ended if verdict is not Verdict.BUSY else None
        if self._incomplete and verdict is not Verdict.BUSY and seen.tty.own:
            return self._capture.failed(INCOMPLETE, at_prompt=True)
        cell = self._capture.cell
        if verdict not in (Verdict.PROMPT, Verdict.UNMARKED):
            return None
        if same < prompt_after(seen.tty, verdict, cell.prompt):
            return None
        if seen.tty.relays and not self._capture.answered:
            return None
        prompt = prompt_before(cell, seen)
        return self._capture.done(self._capture.before_prompt(prompt), "tty")

    def close(self) -> None:
        """Nothing is held."""


class Exact:
    """The end is the given prompt, on the unfinished line of a program that reads."""

    def __init__(self, capture: Capture, prompt: str) -> None:
        self._capture = capture
        self._prompt = prompt.strip()

    def output(self, marks: Sequence[PlacedMark]) -> Result | None:
        """Text alone is no proof: a program may print its prompt and go on."""
        self._capture.note(marks)
        return None

    def observed(self, verdict: Verdict, seen: Foreground, same: int) -> Result | None:
        """The prompt stands there and a program reads."""
        reads = verdict is not Verdict.BUSY or same >= _STILL
        if not reads or not seen.tty.line.rstrip().endswith(self._prompt):
            return None
        return self._capture.done(self._capture.before_prompt(self._prompt), "exact")

    def close(self) -> None:
        """Nothing is held."""


class Repeat:
    """The end is the prompt from before, five more times: five Enters follow the code."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    def output(self, marks: Sequence[PlacedMark]) -> Result | None:
        """Wait until nothing more comes: prompts come one by one."""
        self._capture.note(marks)
        return None

    def observed(self, verdict: Verdict, seen: Foreground, same: int) -> Result | None:
        """Count the prompts at the end."""
        del seen
        if verdict is Verdict.BUSY and same < _STILL:
            return None
        capture = self._capture
        start = capture.start
        if capture.cell.line_mode:
            start += echoed_enters(capture.read(start, ENTERS).decode(errors="replace"))
        begin = max(start, capture.end - _REPEAT_WITHIN)
        data = capture.read(begin, _REPEAT_WITHIN)
        if begin > start:  # begin with a whole line, and so with a whole character
            begin += data.find(b"\n") + 1
            data = data[data.find(b"\n") + 1 :]
        text = (data + capture.line).decode(errors="replace")
        kept = before_prompts(text, capture.cell.prompt)
        if kept is None:
            return None
        # Cut within the text: what follows is prompts.
        cut = begin + len(kept.encode())
        tail = capture.line[: max(0, cut - capture.end)]
        output = OutputRange(start=start, end=min(cut, capture.end), tail=tail)
        return capture.done(output, "repeat")

    def close(self) -> None:
        """Nothing is held."""
