"""`fork`: continue a session in another one, with a copy of its work."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from agent_pty.core.command import NAME, Call, Command, part
from agent_pty.core.fork import MOST_FORKS
from agent_pty.core.safe import one_line
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Mutation, Op


class Fork(Mutation, frozen=True, kw_only=True):
    """Start a session that continues from another: same program, directory, size, environment.

    With `copy_worktree` it works in a copy: in a git repository a linked work tree on the branch
    `agent-pty/NAME`, with everything that is uncommitted or untracked but without ignored files;
    any other directory is copied whole. Of the terminal nothing is copied. If anything fails,
    nothing is left of it.
    """

    id: Annotated[str, Meta(description="session to continue from; its program must run")]
    name: Annotated[str, Meta(description="name of the new session")]
    copy_worktree: Annotated[bool, Meta(description="work in a copy, not in the same files")] = (
        False
    )
    count: Annotated[
        int,
        Meta(ge=1, le=MOST_FORKS, description="make so many, called NAME-1, NAME-2, ..."),
    ] = 1


class ForkMade(Struct, frozen=True, kw_only=True):
    """A new session that continues another one.

    *kind* is what it works in: a linked work tree, a copied directory, or (null) the same one as
    its source. *left_out* names what is not in the copy. *environment*: `exported` is what the
    source's shell exports now; `as_started` that of the source's program when it was started: it is
    no shell at a prompt that can be asked; `daemon`: it could not be seen, so it is the daemon's.
    """

    id: str
    source_id: str
    workspace: str
    branch: str | None
    instance: str
    pid: int | None
    cwd: str
    kind: Literal["worktree", "copy"] | None
    environment: Literal["exported", "as_started", "daemon"]
    left_out: list[str]


class Forked(ForkMade, frozen=True, kw_only=True):
    """The first of the new sessions, and all of them in *forks*."""

    forks: list[ForkMade]


async def fork(registry: Registry, request: Fork) -> Forked:
    """Have the daemon make them."""
    made: Forked = await registry.forks.fork(request)
    return made


async def _print(call: Call, made: dict[str, Any]) -> int:
    if call.json:
        await call.show_json(made)
        return 0
    for one in made["forks"]:
        await call.print(f"forked {one['id']} from {one['source_id']} at {one['workspace']}\n")
    for line in made["left_out"]:
        await call.warn(f"not in the copy: {one_line(line)}")
    return 0


OP = Op(
    name="fork",
    tool="terminal.fork",
    answer="forked",
    request=Fork,
    where="daemon",
    handler=fork,
    commands=(
        Command(
            parts=(
                NAME,
                part(
                    "new_name",
                    "--new-name",
                    into="name",
                    required=True,
                    metavar="NAME",
                    help="name of the new session",
                ),
            ),
            finish=_print,
            examples=(
                "agent-pty fork work --new-name repair-b --copy-worktree",
                "agent-pty fork work --new-name try --copy-worktree --count 3",
            ),
        ),
    ),
)
