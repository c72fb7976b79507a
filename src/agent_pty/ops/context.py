"""What handlers may rely on. Hosts and the daemon have these methods; they do not inherit them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Raw

from agent_pty.core.chord import Chord
from agent_pty.core.find import Place
from agent_pty.core.history import Entry
from agent_pty.core.safe import Allowed
from agent_pty.core.window import Window
from agent_pty.ops.cell_model import CellFact, CellReport, OutputExcerpt, OutputPage
from agent_pty.ops.model import (
    Changes,
    Killed,
    Observation,
    Reading,
    Screen,
    SessionInfo,
    Stopped,
    Wanted,
)

Button = Literal["left", "middle", "right"]
Direction = Literal["up", "down", "left", "right"]
Form = Literal["text", "ansi", "html", "svg", "png"]


class Input(Protocol):
    """Every way to give input; each returns the cursor from which its effect can be read."""

    async def type(self, text: str, *, enter: bool, raw: bool = False) -> int:
        """Type text as a person would; *raw*: exactly these characters."""

    async def paste(self, text: str, *, enter: bool) -> tuple[int, bool]:
        """Paste text; also return whether it was bracketed."""

    async def keys(self, chords: Sequence[Chord], *, pause: float) -> int:
        """Press keys, with *pause* seconds between two."""

    async def click(
        self, *, row: int, col: int, button: Button, count: int, mods: frozenset[str]
    ) -> int:
        """Click at a cell of the screen."""

    async def wheel(self, *, row: int, col: int, direction: Direction, count: int) -> int:
        """Turn the wheel over a cell of the screen."""

    async def drag(self, *, start: tuple[int, int], end: tuple[int, int]) -> int:
        """Press at one cell of the screen, release at another."""


class Cells(Protocol):
    """Code that is run in the session, one cell at a time."""

    async def ready(self, patience: float) -> None:
        """Return once the program is at its prompt."""

    async def run(
        self,
        code: str,
        *,
        limit: float | None,
        patience: float,
        spill: bool,
        until: Sequence[str] = (),
    ) -> CellReport:
        """Run code until it ends, waits for a person, has taken longer than *limit* or *until*."""

    async def answer(self, text: str, *, limit: float | None, spill: bool) -> CellReport:
        """Type a line into the cell that waits; return its next question or its end."""

    async def fire(self, code: str, *, limit: float | None, patience: float) -> CellReport:
        """Start code and return."""

    async def poll(self, cell_id: str | None, *, spill: bool) -> CellReport:
        """Collect the result of a cell, if it has one."""

    async def peek(self, cell_id: str | None, *, spill: bool) -> CellReport:
        """Return a cell as it is now, and collect nothing."""

    def page(self, cell_id: str, *, since: int, limit: int) -> OutputPage:
        """Return part of a cell's output."""

    async def excerpt(self, cell_id: str, *, since: int, room: int) -> OutputExcerpt:
        """Return the two ends of a cell's output, fitted into *room* bytes."""

    def fact(self, cell_id: str) -> CellFact:
        """Return what is remembered of a cell."""

    async def interrupt(self) -> CellReport | None:
        """Stop the running cell, or press Ctrl-C if there is none."""

    def note(self, message: str, who: str) -> None:
        """Add a note to the history."""

    def history(self, lines: int) -> list[Entry]:
        """Return the last lines with the events between them."""


class ScreenReader(Protocol):
    """The rendered screen."""

    def read(self) -> Screen:
        """Return the screen."""

    def changes(self, since: str) -> Changes:
        """Return the rows that differ from the screen whose hash was *since*."""

    def find(self, text: str) -> Sequence[Place]:
        """Return the places of *text* on the screen."""

    async def render(self, form: Form, *, scrollback: int, palette: str) -> str:
        """Return the screen in another form; a picture as base64, in the colours of *palette*."""


class TranscriptReader(Protocol):
    """What the program wrote."""

    def read(
        self,
        *,
        since: int | None,
        tail: int | None,
        max_bytes: int,
        grep: str | None,
        numbered: bool = False,
    ) -> Reading:
        """Return one page; with *numbered* also the numbers of the lines that match."""


class Settling(Protocol):
    """Made before an input; tells when the screen stands still after it."""

    async def settle(self, patience: float) -> bool:
        """Return True when it stands still, False if it does not within *patience*."""


class Waits(Protocol):
    """Conditions that are waited for."""

    async def wait(
        self,
        *,
        until: Sequence[str],
        fail_on: Sequence[str],
        patience: float,
        since: int | None,
        files: bool,
    ) -> Observation:
        """Return once a condition is true; raise if something else ends the wait."""

    def settling(self) -> Settling:
        """Return what tells when the screen stands still after the next input."""


class Viewers(Protocol):
    """People who are attached."""

    def attach(
        self,
        *,
        read_only: bool,
        history: int,
        allowed: Allowed,
        raw: bool,
        repaint: bool,
        window: Window,
    ) -> AsyncIterator[bytes]:
        """Yield what a person sees of the session."""

    def resize(self, *, rows: int, cols: int, attached: bool) -> tuple[int, int]:
        """Change the size; if a person who is *attached* did, only while they are.

        Return rows and columns as they are then: the size of some terminals is not ours to change.
        """


class Terminal(Protocol):
    """The terminal itself."""

    def signal(self, number: int, *, everyone: bool) -> list[int]:
        """Signal the foreground program, or the whole tree; return the pids."""


class Session(Protocol):
    """A live session, as its own handlers see it."""

    @property
    def terminal(self) -> Terminal:
        """The terminal."""

    @property
    def input(self) -> Input:
        """The input side."""

    @property
    def cells(self) -> Cells:
        """The cells."""

    @property
    def screen(self) -> ScreenReader:
        """The screen."""

    @property
    def transcript(self) -> TranscriptReader:
        """The transcript."""

    @property
    def waits(self) -> Waits:
        """The waits."""

    @property
    def viewers(self) -> Viewers:
        """The viewers."""

    @property
    def cursor(self) -> int:
        """Where the transcript continues."""

    def doing(
        self,
    ) -> tuple[
        Literal["idle", "busy", "waiting", "secret", "approval"] | None, str | None, str | None
    ]:
        """Return what the session does, the command that runs in it and its directory."""

    async def perform(self, payload: bytes) -> bytes:
        """Answer another request for this session; return its envelope."""


class Approvals(Protocol):
    """What operators decide."""

    async def approve(self, asked: Any) -> Any:
        """Approve a command or a request (`ops.approval.Approve`)."""

    async def deny(self, asked: Any) -> Any:
        """Deny a request (`ops.approval.Deny`)."""

    async def pending(self, name: str | None) -> Any:
        """Return the requests that wait for an operator, of one session or of all."""

    async def permit(self, asked: Any) -> Any:
        """Spend an approval of what `[permission]` asks about (`ops.permit.Permit`)."""

    async def decide_as_user(self, asked: Any) -> Any:
        """Take a decision of an MCP client's user (`ops.user_decision.UserDecision`)."""

    async def enter_secret(self, asked: Any) -> Any:
        """Type a secret into a session that asks for one (`ops.secret.Secret`)."""


class Policy(Protocol):
    """The rules in force."""

    def described(self) -> Any:
        """Return which they are (`ops.policy.InForce`)."""

    async def reload(self, path: str | None) -> Any:
        """Read the policy file again, or another one; refuse it whole if it has a mistake."""


class Forks(Protocol):
    """Sessions that continue others, and their copies; the requests are those of the ops."""

    async def fork(self, asked: Any) -> Any:
        """Continue a session in others (`ops.fork`)."""

    async def listed(self) -> Any:
        """Return every fork (`ops.forks`)."""

    async def diff(self, asked: Any) -> Any:
        """Compare two attempts (`ops.fork_diff`)."""

    async def merge(self, asked: Any) -> Any:
        """Bring the work of a fork into its source (`ops.fork_merge`)."""

    async def remove(self, asked: Any) -> Any:
        """Remove a fork (`ops.forks`)."""


class Registry(Protocol):
    """The daemon, as the handlers of its own ops see it."""

    async def create(self, wanted: Wanted) -> SessionInfo:
        """Start a program in a new session."""

    async def list(self) -> list[SessionInfo]:
        """Return every session, reconciled with the operating system now."""

    async def past(self, *, after: str | None) -> Sequence[SessionInfo]:
        """Return past sessions after an instance, as many as an answer may have."""

    async def gc(self, asked: Any) -> Any:
        """Remove records of past sessions (`ops.gc.Gc`); return what became of some of them."""

    async def status(self) -> dict[str, Any]:
        """Return facts about the daemon itself."""

    @property
    def approvals(self) -> Approvals:
        """What waits for an operator."""

    @property
    def policy(self) -> Policy:
        """The rules in force."""

    @property
    def tmux(self) -> Any:
        """Panes of people's tmux (`ops.tmux`): adopt, release, panes."""

    @property
    def trace_path(self) -> str:
        """Where the trace of every request is written."""

    async def journal_page(
        self, name: str, instance: str | None, *, after: int
    ) -> Sequence[Raw | Mapping[str, Any]]:
        """Return the recorded events after number *after*, as many as an answer may have."""

    async def past_screen(self, asked: Any) -> Any:
        """Return the screen of a past moment (`ops.past_screen.ScreenAt`)."""

    async def proof(self, asked: Any) -> Any:
        """Write a proof of a session (`ops.proof.Proof`); return its bundle."""

    async def kill(self, name: str) -> Killed:
        """End a session with everything it started, and forget it."""

    async def rename(self, name: str, new_name: str) -> SessionInfo:
        """Give a session another name."""

    @property
    def forks(self) -> Forks:
        """Sessions that continue others."""

    async def watch(
        self, *, name: str | None, kinds: Sequence[str] | None, since: int | None
    ) -> AsyncIterator[bytes]:
        """Return the events of one session or of all; of one also the kept ones after *since*."""

    async def serve_http(self, address: str, port: int, *, remote: bool) -> AsyncIterator[bytes]:
        """Serve HTTP until the result is closed; its lines say where."""

    async def mcp(self, asked: Any) -> Any:
        """Return what gives the caller's connection to the process that speaks `ops.mcp.Mcp`."""

    def command_line(self, asked: Any) -> Any:
        """Carry out a command line (`ops.words.Words`); the daemon knows how to stream it."""

    async def forward(self, name: str, payload: bytes) -> bytes:
        """Let the session's host answer a request."""

    def shut_down(self, *, keep: bool, successor: bool) -> None:
        """Begin to stop."""

    def made_by(self, key: str) -> str | None:
        """Return the name of the session that a request with this key has made."""

    @property
    def leaves_everything(self) -> bool:
        """Whether the daemon is ending and every session stays."""

    async def stopped(self) -> Stopped:
        """Return what is left, once every session has been ended."""
