"""`watch`: what happens, as it happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from msgspec import Meta

from agent_pty.core.command import Call, Command, Fields, part
from agent_pty.errors import BadRequest
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Cursor, Op, Request


class Watch(Request, frozen=True, kw_only=True):
    """Follow the events of one session or of all, one JSON object per line."""

    id: Annotated[str | None, Meta(description="one session; all if not given")] = None
    events: Annotated[list[str] | None, Meta(description="only these kinds of event")] = None
    since: Annotated[
        Cursor | None, Meta(description="`seq` of the last event seen; what came after it first")
    ] = None


def watch(registry: Registry, request: Watch) -> AsyncIterator[bytes]:
    """Return one line per event."""
    if request.since is not None and request.id is None:
        raise BadRequest("since is a number of one session's events: give its id", field="since")
    return registry.watch(name=request.id, kinds=request.events, since=request.since)


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
                part("name", into="id", nargs="?", help="one session (default: all)"),
                part(
                    "event",
                    "--event",
                    into="events",
                    action="append",
                    metavar="KIND",
                    help="only these; may be repeated",
                ),
            ),
            run=_print_events,
            examples=("agent-pty watch", "agent-pty watch work --event exited --event prompt"),
        ),
    ),
)
