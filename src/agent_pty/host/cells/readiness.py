"""Whether the program of a session is at a prompt, and how that is known."""

from __future__ import annotations

import asyncio
from typing import Literal

from agent_pty.core.mark import PlacedMark
from agent_pty.core.tty_state import Known, Verdict, judge
from agent_pty.host.cells.cell import CellStart
from agent_pty.host.cells.foreground import Foreground, assume_at_prompt, observe
from agent_pty.host.cells.learned_prompt import LearnedPrompt
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.integration.dialect import dialect

ReadyBy = Literal["marks", "tty"]
# Controls that reach outside the line. To clear the screen takes two of them.
_MUCH_DRAWN = 2


class Readiness:
    """Fed with marks and observations; `ready` is how a command can be typed, None if it cannot.

    *changed* is set whenever that may have changed.
    """

    def __init__(self, terminal: Terminal, *, program: str | None) -> None:
        self.program = program
        self.changed = asyncio.Event()
        self._terminal = terminal
        self._last = terminal.output.last_mark  # whatever its kind
        self._loops = dialect(program).loops
        self._ready: ReadyBy | None = "marks" if self._at_mark else None
        self.prompt = LearnedPrompt()
        self._image: int | None = None  # what the program was when it first was at its prompt

    @property
    def ready(self) -> ReadyBy | None:
        """How it is known that the program reads a command now."""
        return self._ready

    @property
    def marks(self) -> bool:
        """Whether the session's program sends marks: one was seen."""
        return self._last is not None

    @property
    def number(self) -> int | None:
        """The number of the prompt, if the program counts."""
        return self._last.mark.number if self._last is not None else None

    @property
    def _at_mark(self) -> bool:
        return self._last is not None and self._last.mark.kind == "B"

    def observe(self) -> Foreground:
        """Observe the foreground."""
        return observe(self._terminal)

    def observe_at_prompt(self) -> Foreground:
        """Observe a program that is ready; what it has marked itself is not looked up."""
        return assume_at_prompt(self._terminal) if self._ready == "marks" else self.observe()

    def mark(self, placed: PlacedMark) -> None:
        """Take a mark."""
        self._last = placed
        if placed.mark.kind == "B":
            self._image = self._image or self.observe().image
        self._set("marks" if placed.mark.kind == "B" else None)

    def entered(self) -> None:
        """A line was entered: until the program says so again, it is not at its prompt."""
        self._set(None)

    def forget_marks(self) -> None:
        """The program has lost its marks; from now on it is observed."""
        self._last = None

    def accept(self) -> None:
        """A program without marks that reads, whatever its line says, can be typed into."""
        self._set("tty")

    def judge(self, seen: Foreground, cell: CellStart | None) -> Verdict:
        """Judge one observation; a prompt makes ready."""
        verdict = judge(seen.tty, self._known(seen, cell))
        if verdict is Verdict.PROMPT and self._ready is None:
            self._set("tty")
        return verdict

    def _known(self, seen: Foreground, cell: CellStart | None) -> Known:
        return Known(
            prompt=cell.prompt if cell is not None else None,
            marks=self.marks,
            drawn=cell is not None and seen.drawn - cell.drawn >= _MUCH_DRAWN,
            replaced=self._image is not None and seen.image != self._image,
            loops=self._loops and self.marks,
        )

    def _set(self, ready: ReadyBy | None) -> None:
        self._ready = ready
        self.changed.set()
