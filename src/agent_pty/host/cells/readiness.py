"""Whether the program of a session is at a prompt, and how that is known."""

from __future__ import annotations

import asyncio
import termios
import time
from dataclasses import replace
from typing import Literal

from agent_pty.core.certainty import prompt_after, question_after
from agent_pty.core.mark import PlacedMark
from agent_pty.core.output_paused import paused_suffix
from agent_pty.core.quit_keys import quit_keys
from agent_pty.core.tty_state import Known, Verdict, judge
from agent_pty.host.cells.cell import CellStart
from agent_pty.host.cells.foreground import Foreground, assume_at_prompt, observe
from agent_pty.host.cells.learned_prompt import LearnedPrompt
from agent_pty.host.cells.screen_time import ScreenTime
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.integration.dialect import dialect

ReadyBy = Literal["marks", "tty"]
# Integrated programs say themselves when they are ready; if they do not by then, observations do.
_MARKS_LATE = 1.0
# Controls that reach outside the line. To clear the screen takes two of them.
_MUCH_DRAWN = 2
# Behind a relay it is not seen who reads, so the screen must have been drawn again after that.
_MUCH_DRAWN_BEHIND_RELAY = 4


class Readiness:
    """Fed with marks and observations; `ready` is how a command can be typed, None if it cannot.

    *changed* is set whenever that may have changed.
    """

    def __init__(self, terminal: Terminal, *, program: str | None) -> None:
        self.program = program
        self.changed = asyncio.Event()
        self._terminal = terminal
        self._last = terminal.output.last_mark  # whatever its kind
        self._dialect = dialect(program)
        self._started = time.monotonic()
        self._lost = False  # it no longer marks its prompts
        self._ready: ReadyBy | None = "marks" if self._at_mark else None
        self.prompt = LearnedPrompt()
        self._screen_time = ScreenTime()
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
    def marks_missed(self) -> bool:
        """Whether output was lost, and the program has not marked a prompt since."""
        return self.program is not None and self._terminal.output.marks_missed

    @property
    def at_own_prompt(self) -> bool:
        """Whether the session's own program is ready: it has marked that, or is seen so now."""
        if self._ready == "tty" and self.marks_missed:
            return self._has_keyboard
        return self._ready == "marks"

    @property
    def can_be_asked(self) -> bool:
        """Whether a shell may be at its prompt that says what stands on its line."""
        if not self._dialect.answers or not self._has_keyboard:
            return False
        # At its prompt it edits the line itself; while the kernel does, it runs `read`.
        edits = not self._terminal.local_modes() & termios.ICANON
        return self._ready == "marks" or (self.marks_missed and edits)

    @property
    def _has_keyboard(self) -> bool:
        return self._terminal.foreground() == self._terminal.root.pid

    @property
    def marks_exit(self) -> bool:
        """Whether the program marks the end of `exit` before it ends."""
        return self._dialect.marks_exit

    @property
    def number(self) -> int | None:
        """The number of the prompt, if the program counts."""
        return self._last.mark.number if self._last is not None else None

    @property
    def image(self) -> int:
        """What the program was when it first was at its prompt; 0: it was not seen there."""
        return self._image or 0

    @property
    def _at_mark(self) -> bool:
        return self._last is not None and self._last.mark.kind == "B"

    def why_not(self) -> str:
        """Say why no command can be typed."""
        seen = self.observe()
        does = "waits for input" if seen.tty.reading else "is running"
        paused = paused_suffix(self._terminal.name, paused=self._terminal.output_paused)
        return f"not at a prompt: {seen.name or 'the program'} {does}{paused}"

    def observe(self) -> Foreground:
        """Observe the foreground."""
        seen = observe(self._terminal)
        kept = self._screen_time.is_long(alternate=seen.tty.alternate, now=time.monotonic())
        mute = seen.tty.mute and self._dialect.prompt_on_stderr
        if (kept, mute) == (seen.tty.kept, seen.tty.mute):
            return seen
        return replace(seen, tty=replace(seen.tty, kept=kept, mute=mute))

    def observe_at_prompt(self) -> Foreground:
        """Observe a program that is ready; what it has marked itself is not looked up."""
        return assume_at_prompt(self._terminal) if self._ready == "marks" else self.observe()

    def mark(self, placed: PlacedMark) -> None:
        """Take a mark."""
        if placed.mark.kind == "B":
            self._lost = False
        if not self._lost:  # bash goes on to mark where output begins
            self._last = placed
        if placed.mark.kind == "B":
            self._image = self._image or self.observe().image
        self._set("marks" if placed.mark.kind == "B" else None)

    def entered(self) -> None:
        """A line was entered: until the program says so again, it is not at its prompt."""
        self._screen_time = ScreenTime()
        self._set(None)

    def forget_marks(self) -> None:
        """The program no longer marks its prompts; until it does again, it is observed."""
        self._last, self._lost = None, True

    def miss_output(self) -> None:
        """Output was lost: marks from before say nothing; until the next, it is observed."""
        self._last = None
        self._set(None)

    def confirm(self) -> None:
        """The program's own prompt was seen after output was lost: as good as its mark."""
        if self._ready == "tty" and self.at_own_prompt:
            self._set("marks")

    def ended(self, verdict: Verdict, seen: Foreground, before: str | None) -> None:
        """A cell ended by observation; *before* is the prompt it was typed at, None: of another."""
        self.prompt.ended(seen.tty.line, before)
        if verdict is Verdict.UNMARKED:
            self.forget_marks()
            self.accept()

    def observed(self, verdict: Verdict, seen: Foreground, same: int) -> None:
        """Without marks, a program that reads can be typed into; with marks it says so itself."""
        if verdict is Verdict.UNMARKED and same >= prompt_after(seen.tty, verdict, None):
            self.forget_marks()
            self.accept()
        if self.marks or verdict not in (Verdict.INPUT, Verdict.SECRET):
            return
        if self.marks_missed:
            self._accept_editor(seen, same)
            return
        late = time.monotonic() - self._started > _MARKS_LATE
        if same >= question_after(seen.tty, verdict, None) and (self.program is None or late):
            self.accept()

    def _accept_editor(self, seen: Foreground, same: int) -> None:
        """After lost output take a shell that edits a line for one at its prompt, if it can tell.

        What else reads may be a program that was started meanwhile, and would get the code.
        """
        enough = same >= prompt_after(seen.tty, Verdict.UNMARKED, None)
        if enough and seen.tty.own and self.can_be_asked:
            self.accept()

    def accept(self) -> None:
        """A program without marks that reads, whatever its line says, can be typed into."""
        self._set("tty")

    def judge(self, seen: Foreground, cell: CellStart | None) -> Verdict:
        """Judge one observation; a prompt makes ready."""
        verdict = judge(seen.tty, self._known(seen, cell))
        if verdict is Verdict.UNMARKED and self._ready == "marks":
            return Verdict.INPUT  # it has marked this prompt
        if verdict is Verdict.PROMPT and self._ready is None:
            self._set("tty")
        return verdict

    def verdict(self, seen: Foreground) -> Verdict:
        """Judge one observation for somebody who only asks: nothing is learned from it."""
        return judge(seen.tty, self._known(seen, None))

    def _known(self, seen: Foreground, cell: CellStart | None) -> Known:
        return Known(
            prompt=cell.prompt if cell is not None else None,
            marks=self.marks,
            full_screen=bool(quit_keys(seen.name)),
            drawn=cell is not None and seen.drawn - cell.drawn >= _much_drawn(seen),
            replaced=self._image is not None and seen.image != self._image,
            line_mode=self._line_mode(cell),
            edits=cell is not None and cell.edits,
            asks=self._dialect.asks and cell is not None,
            loops=self._dialect.loops and self.marks,
        )

    def _line_mode(self, cell: CellStart | None) -> bool | None:
        """Return how the program reads at its prompt, None if that is not known."""
        if self.marks_missed and cell is None and self._dialect.answers:
            return False
        # Only of the program that has marked a prompt is it known that it is still the same.
        same = self._image is not None or self.marks_missed
        return cell.line_mode if cell is not None and same else None

    def _set(self, ready: ReadyBy | None) -> None:
        self._ready = ready
        self.changed.set()


def _much_drawn(seen: Foreground) -> int:
    return _MUCH_DRAWN_BEHIND_RELAY if seen.tty.relays else _MUCH_DRAWN
