"""`fork-merge`: bring what was done in a fork into its source."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from agent_pty.core.command import Call, Command, Fields
from agent_pty.core.safe import one_line
from agent_pty.ops.context import Registry
from agent_pty.ops.forks import FORK
from agent_pty.ops.op import LARGEST_PAGE, Mutation, Op

MOST_DIFF = LARGEST_PAGE - (1 << 14)


class ForkMerge(Mutation, frozen=True, kw_only=True):
    """Apply what was changed in a fork to the files of its source, all of it or nothing.

    A later merge brings what was changed since the one before. Nothing is committed or staged. If
    it does not fit, because the source has changed in the same places, nothing is changed and the
    answer says where.
    """

    id: Annotated[str, Meta(description="the fork")]
    dry_run: Annotated[bool, Meta(description="show what would be done, and do nothing")] = False
    tree: Annotated[
        str | None,
        Meta(description="apply only if the files are as an answer showed them: its `tree`"),
    ] = None


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A file: A added, M modified, D deleted, T of another kind; of binary ones no lines count."""

    path: str
    status: str
    added: int | None
    removed: int | None


class ForkMerged(Struct, frozen=True, kw_only=True):
    """What was applied, or would be; *diff* is cut if it is long, and *diff_bytes* says so.

    *left_out* names what has to be brought over by hand. *tree* names the state of the files.
    """

    id: str
    source_id: str
    into: str
    applied: bool
    files: list[ChangedFile]
    diff: str
    diff_bytes: int
    left_out: list[str]
    tree: str


async def fork_merge(registry: Registry, request: ForkMerge) -> ForkMerged:
    """Have the daemon do it."""
    merged: ForkMerged = await registry.forks.merge(request)
    return merged


async def _merge(call: Call, fields: Fields) -> int:
    """Show what will be applied, then apply exactly that."""
    shown = await call.ask("fork_merge", **{**fields, "dry_run": True, "key": None})
    if not call.json:
        await _show(call, shown)
    if fields["dry_run"] or not shown["files"]:
        if call.json:
            await call.show_json(shown)
        return 0
    done = await call.ask("fork_merge", **{**fields, "tree": shown["tree"]})
    if call.json:
        await call.show_json(done)
        return 0
    await call.print(f"merged {done['id']} into {done['source_id']}: {_count(done)}\n")
    return 0


async def _show(call: Call, shown: dict[str, Any]) -> None:
    for line in shown["diff"].removesuffix("\n").split("\n") if shown["diff"] else ():
        await call.print(one_line(line) + "\n")
    if len(shown["diff"].encode()) < shown["diff_bytes"]:
        await call.warn(f"the diff has {shown['diff_bytes']} bytes; only its beginning is shown")
    for line in shown["left_out"]:
        await call.warn(f"not merged: {one_line(line)}")
    if not shown["files"]:
        await call.print("nothing to merge\n")


def _count(merged: dict[str, Any]) -> str:
    return f"{len(merged['files'])} file(s) in {one_line(merged['into'])}"


OP = Op(
    name="fork_merge",
    answer="fork_merged",
    request=ForkMerge,
    where="daemon",
    handler=fork_merge,
    commands=(
        Command(
            name="fork-merge",
            parts=(FORK,),
            run=_merge,
            hidden=frozenset({"tree"}),
            examples=("agent-pty fork-merge repair-b --dry-run", "agent-pty fork-merge repair-b"),
        ),
    ),
)
