"""One cell: its life, what was fixed when it began, how it ended.

    phase      what happens                       next phase
    ---------  ---------------------------------  ----------
    PREPARING  begin: the program is at a prompt  TYPING
    TYPING     typed: all of the code was given   RUNNING
    RUNNING    ask: it waits for a person         WAITING
    WAITING    resume: it was answered, or works  RUNNING
    RUNNING    hold: an exec needs an approval    WAITING
    WAITING    let_go: that was decided           RUNNING
    any        finish: its result is known        ENDED

Three things are independent of the phase: `overdue` (it took longer than its limit and still runs),
`interrupting` (somebody is stopping it, so its end will be reported as interrupted) and `met` (what
its caller waited for came true).

Rule of this file: only these methods change a cell, and whatever changes sets `changed`.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from agent_pty.core.mark import PlacedMark
from agent_pty.core.short_code import shortened
from agent_pty.host.cells.output_range import OutputRange
from agent_pty.host.terminal.tty import Modes
from agent_pty.ops.cell_model import CompletedBy, Status

if TYPE_CHECKING:
    from agent_pty.host.cells.capture import Capture

WaitingFor = Literal["input", "secret", "approval"]


class CellStart(Struct, frozen=True, kw_only=True):
    """What is known when the code is typed: enough for another host to see the cell end.

    *typed* is where the transcript was, *number* that of the prompt, *prompt* what stood on the
    line, *reader* the process that read it. *lines* will be echoed if *echoed*. In *line_mode*
    the kernel edits the line. *drawn* is how much was drawn all over the screen until then. *code*
    is what was asked for, shortened; *exit_codes* is whether what runs it has an exit code for it.
    *glued* is how many bytes of output preceded the prompt on its line. *edits*: a line editor
    had the line. *image* is another number when the session's program replaces itself; 0: unknown.
    *begins*: the program marks where output begins.
    """

    cell_id: str
    frame: str
    typed: int
    lines: list[str]
    echoed: bool
    line_mode: bool
    drawn: int
    number: int | None
    prompt: str
    began: float
    limit: float | None
    reader: int | None = None
    code: str = ""
    exit_codes: bool = False
    glued: int = 0
    edits: bool = False
    image: int = 0
    begins: bool = False

    def owns(self, placed: PlacedMark) -> bool:
        """Whether a mark is of this cell, not an older one that is seen again after a crash."""
        number = placed.mark.number
        if number is None or self.number is None:
            return placed.place + len(placed.line) >= self.typed
        return number > self.number if placed.mark.kind == "D" else number >= self.number


class Result(Struct, frozen=True, kw_only=True):
    """How a cell ended."""

    cell_id: str
    status: Status
    output: OutputRange = OutputRange(start=0, end=0)
    frame: CompletedBy | None
    exit_code: int | None = None
    exit_code_unknown: bool = False  # there is one, but nobody could report it
    error: str | None = None
    cwd: str | None = None
    duration_ms: int = 0
    code: str = ""
    now: str | None = None  # the program at the keyboard, if it is not the one that ran the code
    hint: str | None = None


class Phase(enum.Enum):
    """Where a cell is in its life; see the table above."""

    PREPARING = "preparing"
    TYPING = "typing"
    RUNNING = "running"
    WAITING = "waiting"
    ENDED = "ended"


class Watch(Protocol):
    """What the caller of a cell waits for, besides its end; see `until.Until`."""

    def begin(self, cell: Cell, capture: Capture) -> None:
        """The code is about to be typed."""

    def wrote(self) -> None:
        """Something was written."""

    def end(self) -> None:
        """The caller no longer waits."""


class Cell:
    """A cell that has the session, or had it."""

    def __init__(
        self,
        cell_id: str,
        *,
        fired: bool,
        limit: float | None = None,
        code: str = "",
        watch: Watch | None = None,
    ) -> None:
        self.id = cell_id
        self.fired = fired
        self.watch = watch
        self.limit = limit
        self.code = code  # shortened, to tell it from other cells
        self.changed = asyncio.Event()
        self._phase = Phase.PREPARING
        self._began = time.monotonic()
        self._start: CellStart | None = None
        self._modes: Modes | None = None
        self._waiting_for: WaitingFor | None = None
        self._hint: str | None = None
        self._held = False
        self._overdue = False
        self._answered = False
        self._interrupting = False
        self._met = False
        self._nudged = False
        self._caller_left = False
        self._timeouts_reported = 0
        self._result: Result | None = None

    @classmethod
    def new(
        cls, code: str, *, limit: float | None, fired: bool = False, watch: Watch | None = None
    ) -> Cell:
        """Return a cell that will run *code*."""
        short = shortened(code)
        return cls(secrets.token_hex(6), fired=fired, limit=limit, code=short, watch=watch)

    @classmethod
    def resumed(cls, start: CellStart) -> Cell:
        """Return the cell that ran when the host before us died."""
        cell = cls(start.cell_id, fired=True, limit=start.limit, code=start.code)
        cell.begin(start, modes=None)
        cell.typed()
        return cell

    @classmethod
    def ended(cls, result: Result) -> Cell:
        """Return a cell whose result was found in a file."""
        cell = cls(result.cell_id, fired=True, code=result.code)
        cell.finish(result)
        return cell

    # -- what it is

    @property
    def phase(self) -> Phase:
        """Where it is in its life."""
        return self._phase

    @property
    def began(self) -> float:
        """When its code was typed; before that, when it took the session."""
        return self._start.began if self._start is not None else self._began

    @property
    def start(self) -> CellStart | None:
        """What was fixed when its code was typed; None before that."""
        return self._start

    @property
    def modes(self) -> Modes | None:
        """How the terminal was set before it began."""
        return self._modes

    @property
    def waiting_for(self) -> WaitingFor | None:
        """What it waits for, while it waits."""
        return self._waiting_for

    @property
    def hint(self) -> str | None:
        """How to leave the full-screen program that waits."""
        return self._hint

    @property
    def answered(self) -> bool:
        """Whether it was answered: since then the limits of the answers count, not its own."""
        return self._answered

    @property
    def interrupting(self) -> bool:
        """Whether somebody is stopping it."""
        return self._interrupting

    @property
    def met(self) -> bool:
        """Whether what its caller waited for came true."""
        return self._met

    @property
    def kept(self) -> bool:
        """Whether its result must be kept: nobody waited for its end."""
        return self.fired or self._caller_left

    @property
    def timeouts_reported(self) -> int:
        """How often `poll` has answered that it timed out."""
        return self._timeouts_reported

    @property
    def result(self) -> Result | None:
        """How it ended."""
        return self._result

    @property
    def runs(self) -> bool:
        """Whether its code was typed and it has not ended."""
        return self._phase in (Phase.RUNNING, Phase.WAITING)

    @property
    def settled(self) -> bool:
        """Whether there is something to report: it ended, waits for a person, or was met."""
        return self._met or self._phase in (Phase.WAITING, Phase.ENDED)

    @property
    def status(self) -> Status:
        """What a poll answers."""
        if self._result is not None:
            return self._result.status
        if self._overdue:
            return Status.TIMEOUT
        return Status.WAITING if self._phase is Phase.WAITING else Status.RUNNING

    def occupation(self) -> dict[str, Any]:
        """Return what it does, for somebody who finds the session busy."""
        took = int((time.monotonic() - self.began) * 1000)
        return {"code": self.code, "running_ms": took, "for": self._waiting_for}

    async def until(self, done: Callable[[], bool]) -> None:
        """Return once *done*; the caller bounds the time."""
        while not done():
            self.changed.clear()
            await self.changed.wait()

    async def ends_within(self, seconds: float) -> bool:
        """Whether it has a result by then."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.until(lambda: self.result is not None)
        return self.result is not None

    # -- what happens to it

    def begin(self, start: CellStart, *, modes: Modes | None) -> None:
        """Its code is about to be typed."""
        self._start, self._modes = start, modes
        self._move(Phase.TYPING)

    def typed(self) -> None:
        """All of its code was given; it may have ended before that."""
        if self._phase is Phase.TYPING:
            self._move(Phase.RUNNING)

    def ask(self, waiting_for: WaitingFor, hint: str | None) -> None:
        """It waits for a person; for an approval it does so already."""
        if self._held:
            return
        self._waiting_for, self._hint = waiting_for, hint
        self._move(Phase.WAITING)

    def resume(self) -> None:
        """It was answered, or works by itself; nothing if it did not wait for that."""
        if self._phase is Phase.WAITING and not self._held:
            self._waiting_for = self._hint = None
            self._move(Phase.RUNNING)

    def hold(self, hint: str) -> None:
        """A program that it runs waits for an approval; what is typed does not change that."""
        self._held, self._waiting_for, self._hint = True, "approval", hint
        self._move(Phase.WAITING)

    def let_go(self) -> None:
        """Every approval was decided."""
        self._held = False
        self.resume()

    def answer(self) -> None:
        """Somebody answers it, and gives it as long as the answer says."""
        self._answered, self._overdue = True, False
        self.resume()

    def nudge(self) -> bool:
        """Return True the first time: a block of code gets one Enter to end it, not more."""
        first, self._nudged = not self._nudged, True
        return first

    def expire(self) -> bool:
        """It took longer than its limit; False if that is known, or if it has ended."""
        if self._overdue or self._phase is Phase.ENDED:
            return False
        self._overdue = True
        self.changed.set()
        return True

    def report_timeout(self) -> None:
        """`poll` has answered that it timed out."""
        self._timeouts_reported += 1

    def meet(self) -> None:
        """What its caller waited for came true."""
        self._met = True
        self.changed.set()

    def interrupt(self) -> None:
        """Somebody begins to stop it."""
        self._interrupting = True

    def survive(self) -> None:
        """It could not be stopped and runs on."""
        self._interrupting = False

    def leave(self) -> None:
        """Its caller was answered; if it has not ended, its result must be kept."""
        self._caller_left = self._phase is not Phase.ENDED

    def finish(self, result: Result) -> None:
        """Its result is known."""
        self._waiting_for = self._hint = None
        self._result = result
        self._move(Phase.ENDED)

    def _move(self, phase: Phase) -> None:
        self._phase = phase
        self.changed.set()
