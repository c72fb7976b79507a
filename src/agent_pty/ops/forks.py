"""`forks` and `fork-remove`: what forks there are, and the end of one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from agent_pty.core.command import Call, Command, part
from agent_pty.core.safe import one_line
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Mutation, Op, Request

FORK = part("name", into="id", help="the fork")


class Forks(Request, frozen=True, kw_only=True):
    """List forks: whose they are, where they work and how much was done in them."""


class ForkInfo(Struct, frozen=True, kw_only=True):
    """One fork; *state* is that of its session, `gone` if there is none any more.

    *changed_files* and *commits* count what only the fork has, since it was last merged; null: that
    is not known, and *problem* says why. *merged*: all of it is in the source, by `fork-merge`.
    """

    id: str
    source_id: str
    workspace: str
    branch: str | None
    kind: Literal["worktree", "copy"] | None
    state: Literal["running", "exited", "lost", "gone"]
    changed_files: int | None
    commits: int | None
    merged: bool
    instance: str | None
    made_at: str
    left_out: list[str]
    problem: str | None = None


class ForkRemove(Mutation, frozen=True, kw_only=True):
    """Remove a fork: its work tree or copy, and its branch; never anything of its source.

    Work that is nowhere else, and a session that still runs in it, prevent that unless `force`:
    then the session is ended and the work is lost.
    """

    id: Annotated[str, Meta(description="the fork")]
    force: Annotated[bool, Meta(description="end its session, and lose what only it has")] = False


class ForkRemoved(Struct, frozen=True, kw_only=True):
    """What was removed; *lost_files* and *lost_commits* count what only the fork had."""

    id: str
    source_id: str
    workspace: str
    branch: str | None
    lost_files: int | None
    lost_commits: int | None


async def forks(registry: Registry, _request: Forks) -> list[ForkInfo]:
    """Look at every fork."""
    found: list[ForkInfo] = await registry.forks.listed()
    return found


async def fork_remove(registry: Registry, request: ForkRemove) -> ForkRemoved:
    """Remove one."""
    removed: ForkRemoved = await registry.forks.remove(request)
    return removed


async def _print_forks(call: Call, found: list[dict[str, Any]]) -> int:
    if call.json:
        await call.show_json(found)
        return 0
    if not found:
        await call.warn("no forks")
    for one in found:
        await call.print(_line(one) + "\n")
    return 0


def _line(one: dict[str, Any]) -> str:
    changed = "-" if one["changed_files"] is None else str(one["changed_files"])
    facts = (
        f"{one['id']} source={one['source_id']} state={one['state']} "
        f"branch={one['branch'] or '-'} changed={changed} commits={one['commits'] or 0}"
    )
    merged = " merged" if one["merged"] else ""
    problem = f" problem={one['problem']}" if one["problem"] else ""
    return one_line(f"{facts}{merged} workspace={one['workspace']}{problem}")


def _removed(_call: Call, one: dict[str, Any]) -> str:
    lost = [
        f"{one[field]} {what}"
        for field, what in (("lost_files", "changed file(s)"), ("lost_commits", "commit(s)"))
        if one[field]
    ]
    return f"removed {one['id']}" + (f", with {' and '.join(lost)}" if lost else "")


LIST = Op(
    name="forks",
    answer="forks",
    request=Forks,
    where="daemon",
    handler=forks,
    commands=(Command(finish=_print_forks, examples=("agent-pty forks", "agent-pty forks -j")),),
)

REMOVE = Op(
    name="fork_remove",
    answer="fork_removed",
    request=ForkRemove,
    where="daemon",
    handler=fork_remove,
    commands=(
        Command(
            name="fork-remove",
            parts=(FORK,),
            text=_removed,
            examples=("agent-pty fork-remove repair-b", "agent-pty fork-remove repair-b --force"),
        ),
    ),
)
