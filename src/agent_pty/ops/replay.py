"""`replay`: the recorded events of a session, also of one that is long gone."""

from __future__ import annotations

import json
from typing import Annotated, Any, cast

from msgspec import Meta

from agent_pty.core.command import NAME, Call, Command, Fields, part
from agent_pty.core.evidence.label import label
from agent_pty.core.safe import one_line, safe_json
from agent_pty.errors import Usage
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Cursor, Op, Request


class Replay(Request, frozen=True, kw_only=True):
    """Return what was recorded of a session: what was typed, by whom, and what came of it.

    An answer has at most 256 KiB; `after` leads to the rest.
    """

    id: Annotated[str, Meta(description="session, running or not")]
    instance: Annotated[
        str | None, Meta(description="an earlier one of that name; default: the newest")
    ] = None
    after: Annotated[Cursor, Meta(description="`sequence` of the last event seen")] = 0


async def replay(registry: Registry, request: Replay) -> list[dict[str, Any]]:
    """Return one page of events; a line that is none says so in its place."""
    page = await registry.journal_page(request.id, request.instance, after=request.after)
    return cast("list[dict[str, Any]]", page)


async def _print_events(call: Call, fields: Fields) -> int:
    """Print every event, in bounded memory: a page after the other."""
    if call.options.play:  # the client does that itself
        raise Usage("--play needs a terminal: use the command line of agent-pty")
    after, first = fields["after"] or 0, True
    while page := await call.ask("replay", **{**fields, "after": after}):
        seen = [one["sequence"] for one in page if one["sequence"] is not None]
        after = max(seen, default=after + len(page))
        if call.json:
            text = ",\n".join(json.dumps(one, indent=2, ensure_ascii=False) for one in page)
            await call.print(("[" if first else ",\n") + safe_json(text))
        else:
            await call.print("".join(_line(one) + "\n" for one in page))
        first = False
    if call.json:
        await call.print("[]\n" if first else "]\n")
    return 0


def _line(event: dict[str, Any]) -> str:
    if "damaged" in event:
        return f"damaged: {one_line(event['damaged'])}"
    when = event["timestamp"].replace("T", " ").replace("Z", " UTC")
    return f"{when} {event['session_id']} {one_line(label(event['kind']))}"


OP = Op(
    name="replay",
    tool="terminal.replay",
    answer="replay",
    request=Replay,
    where="daemon",
    handler=replay,
    commands=(
        Command(
            parts=(
                NAME,
                part(
                    "play",
                    "--play",
                    action="store_true",
                    help="play the recording: space stops, arrows skip or change the speed, q ends",
                ),
                part("speed", "--speed", default="1", metavar="N", help="2: twice as fast"),
                part(
                    "idle_limit",
                    "--idle-limit",
                    default="2s",
                    metavar="DUR",
                    help="longest quiet time that is shown (default: 2s; 0: as long as it was)",
                ),
            ),
            run=_print_events,
            examples=(
                "agent-pty replay work",
                "agent-pty replay work --json",
                "agent-pty replay work --play --speed 4",
            ),
        ),
    ),
)
