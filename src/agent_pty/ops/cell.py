"""Cells: `run`, `fire`, `poll` and `peek`, and the ops that go with them."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta, Struct, field

from agent_pty.core.command import (
    NAME,
    STATUS,
    TOKENS,
    Command,
    Part,
    duration,
    part,
    text_or_stdin,
)
from agent_pty.core.history import Entry
from agent_pty.errors import BadRequest
from agent_pty.ops.cell_model import CellFact, CellReport, OutputPage
from agent_pty.ops.cell_text import print_result, print_so_far
from agent_pty.ops.context import Session
from agent_pty.ops.gated import WAIT_APPROVAL, Gated
from agent_pty.ops.op import LARGEST_PAGE, Mutation, Op, Request
from agent_pty.ops.wait import several

_WEEK_MS = 7 * 24 * 3600 * 1000
_MOST_LINES = 100_000
# How long a program may take to reach its prompt before code is typed into it.
_PATIENCE = 20.0

Id = Annotated[str, Meta(description="name of the session")]
Code = Annotated[str, Meta(description="code to run; several lines run as one unit")]
Limit = Annotated[
    int,
    Meta(
        ge=-_WEEK_MS,
        le=_WEEK_MS,
        description="limit in milliseconds, after which the code still runs; 0: no limit",
    ),
]
CellId = Annotated[
    str | None, Meta(description="id of the cell; default: the one that runs or ended last")
]
Spill = Annotated[bool, Meta(description="put an output above 64 KiB into a file")]


class Run(Gated, frozen=True, kw_only=True):
    """Run code in the shell or REPL of a session and return its output and exit code.

    The command exits as the code did; 4: timeout, 8: it waits for a person, 122: the exit code is
    unknown, because a nested or remote shell does not report it. With `--until` it exits with 0
    when a condition came true, and the code runs on; 9: the code ended well, but none came true.
    """

    id: Id
    code: Code
    timeout_ms: Limit = 30_000
    spill: Spill = True
    until: Annotated[
        str | list[str],
        Meta(
            description="return also when this is true of the output of this code, which runs on: "
            "text, regex:P, screen:P, prompt, idle:2s or exit; several: the first that is true"
        ),
    ] = field(default_factory=list)


class Fire(Gated, frozen=True, kw_only=True):
    """Start code in the shell or REPL of a session and return at once; `poll` has the result."""

    id: Id
    code: Code
    timeout_ms: Limit = 300_000


class Poll(Mutation, frozen=True, kw_only=True):
    """Collect the result of a cell, or report that it still runs."""

    id: Id
    cell: CellId = None
    spill: Spill = True


class Peek(Request, frozen=True, kw_only=True):
    """Show a cell and its output so far, without collecting its result."""

    id: Id
    cell: CellId = None
    spill: Spill = False


class Output(Request, frozen=True, kw_only=True):
    """Read a cell's output in pages; that of the last cell even after it was collected."""

    id: Id
    cell: Annotated[str, Meta(description="id of the cell")]
    since: Annotated[int, Meta(ge=0, description="byte to start at")] = 0
    max_bytes: Annotated[int, Meta(ge=4, le=LARGEST_PAGE, description="bytes per page")] = (
        LARGEST_PAGE
    )


class Ready(Request, frozen=True, kw_only=True):
    """Wait until the shell or REPL of a session is at its prompt."""

    id: Id
    timeout_ms: Annotated[int, Meta(ge=0, le=_WEEK_MS, description="milliseconds to wait")] = 20_000


class Fact(Request, frozen=True, kw_only=True):
    """Return the last known status of a cell, even after its result was collected."""

    id: Id
    cell: Annotated[str, Meta(description="id of the cell")]


class Notify(Mutation, frozen=True, kw_only=True):
    """Add a note to a session's history, for people who watch it."""

    id: Id
    message: Annotated[str, Meta(description="text of the note")]
    who: Annotated[str, Meta(description="author of the note")] = "?"


class History(Request, frozen=True, kw_only=True):
    """Read the last lines of a session, with the events of its cells between them."""

    id: Id
    lines: Annotated[int, Meta(ge=0, le=_MOST_LINES, description="how many lines")] = 25


class Done(Struct, frozen=True, kw_only=True):
    """The session that is ready, or that has the note."""

    id: str


class Past(Struct, frozen=True, kw_only=True):
    """Lines of text, events of cells and notes, in order."""

    entries: list[Entry]


def limit_of(milliseconds: int) -> float | None:
    """Return a limit in seconds; None: there is none."""
    return None if milliseconds == 0 else milliseconds / 1000


def _patience(limit: float | None) -> float:
    """Return how long the program may take to reach its prompt: no longer than the code."""
    return _PATIENCE if limit is None else min(_PATIENCE, max(0.0, limit))


# Typed into a terminal they are keys; only these two are text there as well.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def _checked(code: str) -> str:
    code = code.replace("\r\n", "\n")
    if not code.strip():
        raise BadRequest("the code is empty: give a command; `keys` presses Enter", field="code")
    found = _CONTROL.search(code)
    if found is not None:
        name = f"U+{ord(found[0]):04X}"
        raise BadRequest(
            f"code has the control character {name} at position {found.start()}: a terminal takes "
            f"it for a key; write it as an escape of the language, such as \\x{ord(found[0]):02x}",
            field="code",
            position=found.start(),
        )
    return code


async def run(session: Session, request: Run) -> CellReport:
    """Run the code until it ends, waits for a person or exceeds its limit."""
    limit = limit_of(request.timeout_ms)
    return await session.cells.run(
        _checked(request.code),
        limit=limit,
        patience=_patience(limit),
        spill=request.spill,
        until=several(request.until),
    )


async def fire(session: Session, request: Fire) -> CellReport:
    """Start the code and return."""
    limit = limit_of(request.timeout_ms)
    patience = _patience(limit)
    return await session.cells.fire(_checked(request.code), limit=limit, patience=patience)


async def poll(session: Session, request: Poll) -> CellReport:
    """Collect the result of a cell."""
    return await session.cells.poll(request.cell, spill=request.spill)


async def peek(session: Session, request: Peek) -> CellReport:
    """Return a cell without collecting its result."""
    return await session.cells.peek(request.cell, spill=request.spill)


async def output(session: Session, request: Output) -> OutputPage:
    """Return one page of a cell's output."""
    return session.cells.page(request.cell, since=request.since, limit=request.max_bytes)


async def ready(session: Session, request: Ready) -> Done:
    """Wait until the program is at its prompt."""
    await session.cells.ready(request.timeout_ms / 1000)
    return Done(id=request.id)


async def fact(session: Session, request: Fact) -> CellFact:
    """Return what is remembered of a cell."""
    return session.cells.fact(request.cell)


async def notify(session: Session, request: Notify) -> Done:
    """Add a note to the history."""
    session.cells.note(request.message, request.who)
    return Done(id=request.id)


async def history(session: Session, request: History) -> Past:
    """Return the last lines with the events between them."""
    return Past(entries=session.cells.history(request.lines))


def _limited(default: str) -> Part:
    return duration("timeout_ms", default=default, note=", 0: no limit")


_CODE = text_or_stdin("code", help="code to run; - reads standard input")
_CELL = part("cell", into="cell", nargs="?", help="default: the cell that runs or ended last")
_SINCE = part(
    "since", "--since", type=int, metavar="N", help="only what follows this `cursor` of a cell"
)
_SPILL = frozenset({"spill"})

RUN = Op(
    name="run",
    answer="cell",
    request=Run,
    where="session",
    handler=run,
    commands=(
        Command(
            parts=(
                NAME,
                _CODE,
                duration("timeout_ms", default="30s", note=", 0: no limit"),
                part(
                    "until",
                    "--until",
                    "-u",
                    into="until",
                    action="append",
                    default=[],
                    metavar="COND",
                    help="return when the output has text or regex:P, or on screen:P, prompt, "
                    "idle:2s, exit; the code runs on; may be repeated",
                ),
                TOKENS,
                STATUS,
                WAIT_APPROVAL,
            ),
            finish=print_result,
            hidden=_SPILL,
            examples=(
                "agent-pty run work 'make test'",
                "agent-pty run work 'npm ci' --timeout 10m --max-tokens 800",
                "agent-pty run web 'npm start' --until 'regex:listening on .*'",
                "agent-pty run py - --json",
            ),
        ),
    ),
)
FIRE = Op(
    name="fire",
    answer="cell",
    request=Fire,
    where="session",
    handler=fire,
    commands=(
        Command(
            parts=(NAME, _CODE, _limited("5m"), WAIT_APPROVAL),
            text=lambda _call, cell: str(cell["cell_id"]),
            examples=("agent-pty fire work 'make all'",),
        ),
    ),
)
POLL = Op(
    name="poll",
    answer="cell",
    request=Poll,
    where="session",
    handler=poll,
    commands=(
        Command(
            parts=(NAME, _CELL, TOKENS, STATUS),
            finish=print_result,
            hidden=_SPILL,
            examples=("agent-pty poll work", "agent-pty poll work 3f9a0c12de45 --json"),
        ),
    ),
)
PEEK = Op(
    name="peek",
    answer="cell",
    request=Peek,
    where="session",
    handler=peek,
    commands=(
        Command(
            parts=(NAME, _CELL, _SINCE, TOKENS),
            finish=print_so_far,
            hidden=_SPILL,
            examples=(
                "agent-pty peek work --max-tokens 200",
                "agent-pty peek work --since 4096 --json",
            ),
        ),
    ),
)
OUTPUT = Op(name="output", answer="output", request=Output, where="session", handler=output)
READY = Op(name="ready", answer="ready", request=Ready, where="session", handler=ready)
FACT = Op(name="cell", answer="cell_fact", request=Fact, where="session", handler=fact)
NOTIFY = Op(name="notify", answer="notified", request=Notify, where="session", handler=notify)
HISTORY = Op(name="history", answer="history", request=History, where="session", handler=history)
