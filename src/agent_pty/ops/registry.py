"""`list`, `kill` and `rename`: ops on the registry of sessions."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from agent_pty.core.command import NAME, Call, Command, part
from agent_pty.errors import UnknownSession
from agent_pty.ops.context import Registry
from agent_pty.ops.model import Killed, SessionInfo
from agent_pty.ops.op import Mutation, Op, Request

NO_SESSIONS = "no sessions"


class List(Request, frozen=True, kw_only=True):
    """List every session with its state, as the operating system sees it now."""


class Kill(Mutation, frozen=True, kw_only=True):
    """End a session with its whole process tree, and free its name."""

    id: Annotated[str, Meta(description="session to end")]


class Rename(Mutation, frozen=True, kw_only=True):
    """Give a session another name."""

    id: Annotated[str, Meta(description="session to rename")]
    name: Annotated[str, Meta(description="its new name")]


class Renamed(Struct, frozen=True, kw_only=True):
    """The new name."""

    id: str


async def list_sessions(registry: Registry, _request: List) -> list[SessionInfo]:
    """Ask every host for its sessions."""
    return await registry.list()


async def kill(registry: Registry, request: Kill) -> Killed:
    """End the processes, verify that they are gone and name survivors."""
    return await registry.kill(request.id)


async def kill_again(registry: Registry, request: Kill) -> Killed:
    """Go on with a kill that was begun: a session that is gone was killed by it."""
    try:
        return await registry.kill(request.id)
    except UnknownSession:
        return Killed(ended=[], survivors=[], exit_code=None, signal=None, already=True)


async def rename(registry: Registry, request: Rename) -> Renamed:
    """Rename a session; its files are named by instance and stay."""
    return Renamed(id=(await registry.rename(request.id, request.name)).id)


async def rename_again(registry: Registry, request: Rename) -> Renamed:
    """Go on with a renaming that was begun: perhaps the session has its new name already."""
    try:
        return await rename(registry, request)
    except UnknownSession:
        if any(one.id == request.name for one in await registry.list()):
            return Renamed(id=request.name)
        raise


async def _print_list(call: Call, sessions: list[dict[str, Any]]) -> int:
    if call.json:
        await call.show_json(sessions)
    elif not sessions and call.terminal:  # a pipe gets lines of sessions only
        await call.print(f"{NO_SESSIONS}\n")
    else:
        await call.print("".join(_line(one) for one in sessions))
    return 0


def _line(session: dict[str, Any]) -> str:
    pid = session["process_id"] or "-"
    active = str(session["active"]).lower()
    line = f"{session['id']} active={active} pid={pid} workspace={session['workspace']}"
    if session["state"] == "exited":
        how = f"signal:{session['signal']}" if session["signal"] else session["exit_code"]
        line += f" exit={'unknown' if how is None else how}"
    if session["output_paused"]:
        line += " (output paused)"
    if session["state"] == "lost":
        line += f" lost={session['lost_at']}"
    return line.encode("unicode_escape").decode() + "\n"


async def _print_killed(call: Call, killed: dict[str, Any]) -> int:
    await call.show(killed, "killed")
    for survivor in killed["survivors"]:
        await call.warn(f"survived: {survivor['pid']} {survivor['command']}")
    for orphan in killed.get("possible_survivors", ()):
        await call.warn(f"possible survivor: {orphan['pid']} {orphan['command']}")
    for spared in killed.get("spared", ()):
        await call.warn(f"not ended: {spared['pid']} {spared['command']}")
    return 1 if killed["survivors"] else 0


LIST = Op(
    name="list",
    answer="sessions",
    request=List,
    where="daemon",
    handler=list_sessions,
    commands=(Command(finish=_print_list, examples=("agent-pty list --json",)),),
)
KILL = Op(
    name="kill",
    answer="killed",
    request=Kill,
    where="daemon",
    handler=kill,
    continues=True,
    resume=kill_again,
    commands=(Command(parts=(NAME,), finish=_print_killed, examples=("agent-pty kill work",)),),
)
RENAME = Op(
    name="rename",
    answer="renamed",
    request=Rename,
    where="daemon",
    handler=rename,
    continues=True,
    resume=rename_again,
    commands=(
        Command(
            parts=(NAME, part("new_name", into="name", help="its new name")),
            text=lambda call, done: f"renamed {call.options.name} to {done['id']}",
            examples=("agent-pty rename s1 build",),
        ),
    ),
)
