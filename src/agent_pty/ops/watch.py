"""`watch`: follow events as they happen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from msgspec import Meta

from agent_pty.core.command import Call, Command, Fields, part
from agent_pty.errors import BadRequest
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Cursor, Op, Request


class Watch(Request, frozen=True, kw_only=True):
    """Follow the events of one session or of all, one JSON object per line.

    On a terminal each event is a line of plain words, unless --json is given.
    """

    id: Annotated[str | None, Meta(description="session to follow; all if not given")] = None
    events: Annotated[list[str] | None, Meta(description="only these kinds of event")] = None
    since: Annotated[
        Cursor | None, Meta(description="`seq` of the last event seen; events after it come first")
    ] = None


async def watch(registry: Registry, request: Watch) -> AsyncIterator[bytes]:
    """Return the events, one line for each."""
    if request.since is not None and request.id is None:
        raise BadRequest("since is a number of one session's events: give its id", field="since")
    return await registry.watch(name=request.id, kinds=request.events, since=request.since)


async def _print_events(call: Call, fields: Fields) -> int:
    return await call.events(**fields)


OP = Op(
    name="watch",
    answer="watching",
    request=Watch,
    where="daemon",
    handler=watch,
    stream=True,
    commands=(
        Command(
            parts=(
                part("name", into="id", nargs="?", help="session to follow (default: all)"),
                part(
                    "event",
                    "--event",
                    into="events",
                    action="append",
                    metavar="KIND",
                    help="only this kind of event; may be repeated",
                ),
            ),
            run=_print_events,
            examples=("agent-pty watch", "agent-pty watch work --event exited --event prompt"),
        ),
    ),
)
