"""`gc`: remove the records of past sessions that are old, or too many."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from agent_pty.core.byte_size import shown_size, size_in_bytes
from agent_pty.core.command import Call, Command, Fields, Part, argument, long_duration, path_option
from agent_pty.errors import BadRequest, Usage
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Mutation, Op

_KEPT_STATUS = 3
_NOTHING_ASKED = (
    "say what is due: --older-than 30d (ended longer ago), --larger-than 5GB (the oldest that do "
    "not fit), or both; --dry-run shows what would be done"
)

_HELP = (
    "Remove the journals and recordings of past sessions, and their places in the index.\n\n"
    "Due are sessions that ended longer ago than --older-than, and the oldest that do not fit into "
    "--larger-than. One is removed only if its record is verified and was exported, now or before, "
    "unless --force; each removal is signed, and `verify --all` tells it from a loss. Sessions "
    "that run are never touched. Exit status 3: something that was due was kept, with the reason "
    "and the remedy."
)


class Gc(Mutation, frozen=True, kw_only=True):
    """Remove the journals and recordings of past sessions, and their places in the index.

    Due are sessions that ended longer ago than `older_than_ms`, and the oldest that do not fit into
    `larger_than` bytes. One is removed only if its record is verified and was exported, unless
    `force`; each removal is signed. Sessions that run are never touched. An answer is about some of
    them; `after` leads to the rest.
    """

    older_than_ms: (
        Annotated[int, Meta(ge=0, description="due are those that ended longer ago")] | None
    ) = None
    larger_than: (
        Annotated[int, Meta(ge=0, description="bytes all records may have; the oldest are due")]
        | None
    ) = None
    export: Annotated[
        str | None, Meta(description="copy each record into a directory first, and check the copy")
    ] = None
    force: Annotated[bool, Meta(description="also remove what is not verified or not exported")] = (
        False
    )
    dry_run: Annotated[bool, Meta(description="say what would be done, and do nothing")] = False
    after: Annotated[str | None, Meta(description="`next` of the answer before")] = None


class Judged(Struct, frozen=True, kw_only=True):
    """What became of one session that was due; *verdict* is what `verify` says of its journal.

    One that is kept has a *reason* and a *remedy*.
    """

    id: str
    instance: str
    result: Literal["removed", "would_remove", "kept"]
    verdict: str
    event_count: int | None
    bytes: int
    ended_at: str | None
    exported_to: str | None = None
    reason: str | None = None
    remedy: str | None = None


class Collected(Struct, frozen=True, kw_only=True):
    """Some of those that were due; *left* more are, from *next* on."""

    judged: list[Judged]
    left: int
    next: str | None


async def gc(registry: Registry, request: Gc) -> Collected:
    """Refuse what would remove everything by mistake, then collect."""
    if request.older_than_ms is None and request.larger_than is None:
        raise BadRequest(
            "a field is missing: give `older_than_ms`, `larger_than` or both", field="older_than_ms"
        )
    if request.export is not None and not request.export.startswith("/"):
        raise BadRequest(f"export {request.export!r} is not an absolute path", field="export")
    collected: Collected = await registry.gc(request)
    return collected


async def _collect(call: Call, fields: Fields) -> int:
    if fields["older_than_ms"] is None and fields["larger_than"] is None:
        raise Usage(_NOTHING_ASKED)
    judged: list[dict[str, Any]] = []
    place: str | None = None
    while True:
        page = await call.ask("gc", **{**fields, "after": place})
        judged += page["judged"]
        if not call.json:
            await call.print("".join(_line(one) for one in page["judged"]))
        if page["next"] is None:
            break
        place = page["next"]
        if call.watched:
            done = f"{len(judged)} of {len(judged) + page['left']}"
            await call.warn(f"gc: {done} sessions, {shown_size(_freed(judged))} freed")
    await _print_result(call, judged, dry_run=bool(fields["dry_run"]))
    return _KEPT_STATUS if any(one["result"] == "kept" for one in judged) else 0


async def _print_result(call: Call, judged: list[dict[str, Any]], *, dry_run: bool) -> None:
    kept = [one for one in judged if one["result"] == "kept"]
    removed = [one for one in judged if one["result"] != "kept"]
    freed = _freed(judged)
    if call.json:
        result = {"removed": removed, "kept": kept, "freed_bytes": freed, "dry_run": dry_run}
        await call.show_json(result)
        return
    would = "would be removed" if dry_run else "removed"
    await call.print(f"{len(removed)} {would} ({shown_size(freed)}), {len(kept)} kept\n")


def _freed(judged: list[dict[str, Any]]) -> int:
    return sum(one["bytes"] for one in judged if one["result"] != "kept")


def _line(one: dict[str, Any]) -> str:
    which = f"{one['id']} ({one['instance']})"
    if one["result"] == "kept":
        text = f"kept {which}: {one['reason']}; {one['remedy']}"
    else:
        word = "removed" if one["result"] == "removed" else "would remove"
        text = f"{word} {which}: {shown_size(one['bytes'])}, {one['verdict'].replace('_', ' ')}"
        if one["exported_to"] is not None:
            text += f", exported to {one['exported_to']}"
    return text.encode("unicode_escape").decode() + "\n"


async def _size(call: Call) -> Fields:
    given = call.options.larger_than
    return {"larger_than": None if given is None else size_in_bytes(given, what="larger-than")}


_LARGER_THAN = Part(
    arguments=(
        argument(
            "--larger-than",
            dest="larger_than",
            metavar="SIZE",
            help="500MB, 5GB: due are the oldest that do not fit",
        ),
    ),
    fields=("larger_than",),
    fill=_size,
)

OP = Op(
    name="gc",
    answer="collected",
    request=Gc,
    where="daemon",
    handler=gc,
    continues=True,
    audience="operator",
    commands=(
        Command(
            parts=(
                long_duration(
                    "older_than_ms", "--older-than", note="due are those that ended longer ago"
                ),
                _LARGER_THAN,
                path_option(
                    "export", "--export", help="copy each record there first, and check the copy"
                ),
            ),
            run=_collect,
            summary=_HELP,
            hidden=frozenset({"after", "key"}),
            examples=(
                "agent-pty gc --older-than 30d --dry-run",
                "agent-pty gc --older-than 30d --export ~/agent-pty-archive",
                "agent-pty gc --larger-than 5GB --export /mnt/archive --json",
            ),
        ),
    ),
)
