"""The program in front of a session: whether it is at a prompt, and how that is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from agent_pty.core.tty_state import Known, Verdict, judge
from agent_pty.host.cells.cell import Cell
from agent_pty.host.cells.foreground import Look
from agent_pty.host.terminal.output import Marked
from agent_pty.integration.dialect import dialect

Readiness = Literal["marks", "tty"]
# Controls that reach outside the line: to clear the screen, who draws on it takes two.
_MUCH_DRAWN = 2


class Front:
    """Fed with marks and looks; `ready` is how a command can be typed now, None if it cannot."""

    def __init__(
        self,
        *,
        program: str | None,
        look: Callable[[], Look],
        glance: Callable[[], Look],
        last: Marked | None,
    ) -> None:
        self.program = program
        self.look = look
        self._glance = glance
        self.last: Marked | None = last  # the last mark, whatever its kind
        self._loops = dialect(program).loops
        self.changed = asyncio.Event()
        self._ready: Readiness | None = "marks" if self.at_mark else None
        self._image: int | None = None  # what the program was when it first was at its prompt

    @property
    def ready(self) -> Readiness | None:
        """How it is known that the program reads a command now."""
        return self._ready

    @property
    def marks(self) -> bool:
        """Whether the session's program sends marks: seen, not only hoped for."""
        return self.last is not None

    @property
    def number(self) -> int | None:
        """The number of the prompt, if the program counts."""
        return self.last.mark.number if self.last is not None else None

    @property
    def at_mark(self) -> bool:
        """Whether the last mark says that the program reads a command."""
        return self.last is not None and self.last.mark.kind == "B"

    def mark(self, marked: Marked) -> None:
        """Take a mark."""
        self.last = marked
        if marked.mark.kind == "B":
            self._image = self._image or self.look().image
        self._set("marks" if marked.mark.kind == "B" else None)

    def look_at_prompt(self) -> Look:
        """Look at a program that is ready; what it said itself is not looked up."""
        return self._glance() if self._ready == "marks" else self.look()

    def typed(self) -> None:
        """Something was typed: until the program says so again, it is not at its prompt."""
        self._set(None)

    def forget(self) -> None:
        """The program has lost its marks; from now on it is looked at."""
        self.last = None

    def _known(self, look: Look, cell: Cell | None) -> Known:
        return Known(
            prompt=cell.prompt if cell is not None else None,
            marks=self.marks,
            drawn=cell is not None and look.drawn - cell.drawn >= _MUCH_DRAWN,
            replaced=self._image is not None and look.image != self._image,
            loops=self._loops and self.marks,
        )

    def judge(self, look: Look, cell: Cell | None) -> Verdict:
        """Judge one look; a prompt makes ready."""
        verdict = judge(look.seat, self._known(look, cell))
        if verdict is Verdict.PROMPT and self._ready is None:
            self._set("tty")
        return verdict

    def accept(self) -> None:
        """A program without marks that reads, whatever its line says, can be typed into."""
        self._set("tty")

    def _set(self, ready: Readiness | None) -> None:
        self._ready = ready
        self.changed.set()
