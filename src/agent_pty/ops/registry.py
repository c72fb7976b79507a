"""`list`, `kill` and `rename`: ops on the registry of sessions."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from agent_pty.core.command import NAME, Call, Command, Fields, Part, argument, part
from agent_pty.errors import AgentPtyError, BadRequest, UnknownSession, Usage
from agent_pty.ops.context import Registry
from agent_pty.ops.model import Killed, SessionInfo
from agent_pty.ops.op import PASSING, Mutation, Op, Request
from agent_pty.ops.tmux import print_panes
from agent_pty.ops.tmux_socket import user_socket

NO_SESSIONS = "no sessions"


class List(Request, frozen=True, kw_only=True):
    """List every session with its state, as the operating system sees it now.

    With `all`, past sessions whose records are kept follow: what was last known of them. An answer
    has at most 256 KiB of those; `after` leads to the rest.
    """

    all: Annotated[bool, Meta(description="past sessions, too, until `gc` removes them")] = False
    after: Annotated[
        str | None, Meta(description="`instance` of the last one seen; only with `all`")
    ] = None


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


async def list_sessions(registry: Registry, request: List) -> list[SessionInfo]:
    """Ask every host for its sessions; past ones are known by the index."""
    if request.after is not None:
        if not request.all:
            raise BadRequest("after is for past sessions: give all, too", field="after")
        return [*await registry.past(after=request.after)]
    living = await registry.list()
    return [*living, *await registry.past(after=None)] if request.all else living


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


async def _print_list(call: Call, fields: Fields) -> int:
    if call.options.tmux:
        return await print_panes(call, user_socket(await call.environment()))
    sessions = await call.ask("list", **fields)
    if call.json and not fields["all"]:
        await call.show_json(sessions)
    elif call.json:
        await _print_pages(call, sessions)
    elif not sessions and call.terminal:  # a pipe gets lines of sessions only
        await call.print(f"{NO_SESSIONS}\n")
    else:
        async for page in _pages(call, sessions, more=bool(fields["all"])):
            await call.print("".join(_line(one) for one in page))
    return 0


async def _pages(
    call: Call, page: list[dict[str, Any]], *, more: bool
) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield a page and those after it: there may be thousands of past sessions."""
    while page:
        yield page
        if not more:
            return
        page = await call.ask("list", all=True, after=page[-1]["instance"])


async def _print_pages(call: Call, page: list[dict[str, Any]]) -> None:
    """Print one array in pieces, as `show_json` would print it as a whole."""
    begin, end = "[", "[]\n"
    async for one in _pages(call, page, more=True):
        inner = call.encoded(one).rstrip().removeprefix("[").removesuffix("]").rstrip()
        await call.print(begin + inner)
        begin, end = ",", "\n]\n" if call.terminal else "]\n"
    await call.print(end)


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
    if "exported" in session:  # a past one
        line += f" ended={session['ended_at'] or 'unknown'} instance={session['instance']}"
    return line.encode("unicode_escape").decode() + "\n"


async def _kill(call: Call, fields: Fields) -> int:
    names: Sequence[str] = list(dict.fromkeys(call.options.names))
    if bool(names) == call.options.all:
        raise Usage("give the names of sessions, or --all")
    if call.options.all:
        names = [one["id"] for one in await call.ask("list")]
    elif len(names) == 1:
        killed = await call.ask("kill", id=names[0], **fields)
        await call.show(killed, "killed")
        return await _warn_of_survivors(call, killed)
    if fields["key"] is not None:
        raise Usage("--key is for one session")
    asking = (_outcome(call, name) for name in names)
    return await _print_killed(call, names, await asyncio.gather(*asking))


async def _outcome(call: Call, name: str) -> dict[str, Any] | AgentPtyError:
    """Return what was ended, or why not.

    A `--all` that is sent again finds other sessions. So its requests have keys of their own, not
    those that follow from their number.
    """
    key = PASSING + secrets.token_hex(8) if call.options.all else None
    try:
        killed: dict[str, Any] = await call.ask("kill", id=name, key=key)
    except AgentPtyError as error:
        return error
    return killed


async def _print_killed(
    call: Call, names: Sequence[str], outcomes: Sequence[dict[str, Any] | AgentPtyError]
) -> int:
    """Print what became of each session; the status says whether all of them have ended."""
    both = list(zip(names, outcomes, strict=True))
    killed = [name for name, one in both if not isinstance(one, AgentPtyError)]
    if call.json:
        await call.show_json([{"id": name, **_facts(one)} for name, one in both])
    elif killed or not names:
        lines = [f"killed {name}" for name in killed]
        await call.print("\n".join(lines or ["no sessions"]) + "\n")
    failed = 0
    for _, one in both:
        if isinstance(one, AgentPtyError):
            await call.warn(f"error: {one}")
            failed = one.exit_status
        else:
            failed = await _warn_of_survivors(call, one) or failed
    return failed


def _facts(outcome: dict[str, Any] | AgentPtyError) -> dict[str, Any]:
    if isinstance(outcome, AgentPtyError):
        return {"ok": False, "error": str(outcome), "code": outcome.code}
    return outcome


async def _warn_of_survivors(call: Call, killed: dict[str, Any]) -> int:
    for survivor in killed["survivors"]:
        await call.warn(f"survived: {survivor['pid']} {survivor['command']}")
    for orphan in killed.get("possible_survivors", ()):
        await call.warn(f"possible survivor: {orphan['pid']} {orphan['command']}")
    for spared in killed.get("spared", ()):
        await call.warn(f"not ended: {spared['pid']} {spared['command']}")
    return 1 if killed["survivors"] else 0


LIST = Op(
    name="list",
    tool="terminal.list",
    answer="sessions",
    request=List,
    where="daemon",
    handler=list_sessions,
    commands=(
        Command(
            parts=(
                part("tmux", "--tmux", action="store_true", help="panes of your tmux, for `adopt`"),
            ),
            run=_print_list,
            summary="List every session with its state, as the operating system sees it now.\n\n"
            "With --all, past sessions follow: what was last known of them, until `gc` removes "
            "their records.",
            hidden=frozenset({"after"}),
            examples=("agent-pty list --json", "agent-pty list --all", "agent-pty list --tmux"),
        ),
    ),
)
KILL = Op(
    name="kill",
    tool="terminal.kill",
    answer="killed",
    request=Kill,
    where="daemon",
    handler=kill,
    continues=True,
    resume=kill_again,
    commands=(
        Command(
            parts=(
                Part(
                    arguments=(
                        argument("names", nargs="*", metavar="name", help="the sessions"),
                        argument("--all", action="store_true", help="every session"),
                    ),
                    fields=("id",),
                ),
            ),
            run=_kill,
            examples=("agent-pty kill work", "agent-pty kill web db", "agent-pty kill --all"),
        ),
    ),
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
