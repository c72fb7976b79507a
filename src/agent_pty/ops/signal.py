"""`interrupt` and `signal`: stop the running program."""

from __future__ import annotations

import difflib
import signal as signals
from typing import Annotated, Any

from msgspec import Meta, Struct

from agent_pty.core.command import NAME, Call, Command, part
from agent_pty.errors import BadRequest
from agent_pty.ops.cell_model import CellReport
from agent_pty.ops.context import Session
from agent_pty.ops.op import Mutation, Op


class Interrupt(Mutation, frozen=True, kw_only=True):
    """Press Ctrl-C in a session; a running cell that ignores it is ended by signals."""

    id: Annotated[str, Meta(description="session to interrupt")]


class Signal(Mutation, frozen=True, kw_only=True):
    """Send a signal to the program in the foreground of a session, or to all its processes."""

    id: Annotated[str, Meta(description="session to signal")]
    signal: Annotated[str | int, Meta(description="name or number: TERM, SIGHUP, 9")]
    everyone: Annotated[bool, Meta(description="all processes, not only the foreground")] = False


class Interrupted(Struct, frozen=True, kw_only=True):
    """Ctrl-C was pressed; its effect can be read from *cursor* on. *cell* is the stopped cell."""

    cursor: int
    cell: CellReport | None = None


class Signalled(Struct, frozen=True, kw_only=True):
    """The processes that got the signal."""

    signal: str
    pids: list[int]


async def interrupt(session: Session, _request: Interrupt) -> Interrupted:
    """Type the key into the terminal, so that a program in raw mode gets it, as from a person."""
    cursor = session.cursor
    return Interrupted(cursor=cursor, cell=await session.cells.interrupt())


async def signal(session: Session, request: Signal) -> Signalled:
    """Signal by process handle, never by bare pid."""
    number = _number(request.signal)
    pids = session.terminal.signal(number, everyone=request.everyone)
    return Signalled(signal=number.name, pids=pids)


def _number(given: str | int) -> signals.Signals:
    text = str(given).upper()
    names = {known.name: known for known in signals.Signals}
    by_number = {str(known.value): known for known in signals.Signals}
    found = names.get(text) or names.get(f"SIG{text}") or by_number.get(text)
    if found is not None:
        return found
    near = difflib.get_close_matches(f"SIG{text.removeprefix('SIG')}", names, n=3)
    hint = f": did you mean {', '.join(near)}?" if near else ""
    raise BadRequest(f"unknown signal {given!r}{hint}", field="signal")


INTERRUPT = Op(
    name="interrupt",
    answer="interrupted",
    request=Interrupt,
    where="session",
    handler=interrupt,
    commands=(Command(parts=(NAME,), text="interrupted", examples=("agent-pty interrupt work",)),),
)


def _signalled(_call: Call, done: dict[str, Any]) -> str:
    pids = " ".join(str(pid) for pid in done["pids"]) or "nobody"
    return f"signalled {done['signal']} to {pids}"


SIGNAL = Op(
    name="signal",
    answer="signalled",
    request=Signal,
    where="session",
    handler=signal,
    commands=(
        Command(
            parts=(
                NAME,
                part("signal", into="signal", help="name or number: TERM, SIGHUP, 9"),
                part(
                    "all",
                    "--all",
                    into="everyone",
                    action="store_true",
                    help="all processes, not only the foreground",
                ),
            ),
            text=_signalled,
            examples=("agent-pty signal work TERM",),
        ),
    ),
)
