"""`replay`: the recorded events of a session, also of one that is long gone."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from agent_pty.core.command import NAME, Call, Command, Fields
from agent_pty.core.evidence.label import label
from agent_pty.core.safe import safe_json
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
    lines = await registry.journal_page(request.id, request.instance, after=request.after)
    return [_event(line) for line in lines]


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = msgspec.json.decode(line)
    except msgspec.DecodeError:
        event = None
    if isinstance(event, dict) and isinstance(event.get("sequence"), int):
        return event
    return {"damaged": line.decode(errors="replace"), "sequence": None}


async def _print_events(call: Call, fields: Fields) -> int:
    """Print every event, in bounded memory: a page after the other."""
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
        return f"damaged: {safe_json(json.dumps(event['damaged'], ensure_ascii=False))[1:-1]}"
    when = event["timestamp"].replace("T", " ").replace("Z", " UTC")
    text = safe_json(json.dumps(label(event["kind"]), ensure_ascii=False))[1:-1]
    return f"{when} {event['session_id']} {text}"


OP = Op(
    name="replay",
    tool="terminal.replay",
    answer="replay",
    request=Replay,
    where="daemon",
    handler=replay,
    commands=(
        Command(
            parts=(NAME,),
            run=_print_events,
            examples=("agent-pty replay work", "agent-pty replay work --json"),
        ),
    ),
)
