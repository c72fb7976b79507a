"""`batch`: many steps in one call, for agents that pay for every call."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from agent_pty.core.command import NAME, Command, json_list
from agent_pty.errors import AgentPtyError, BadRequest, from_wire, unwrapped
from agent_pty.ops.context import Session
from agent_pty.ops.op import Mutation, Op

_MOST_STEPS = 200
_COMMAND = """agent-pty batch work '[{"op":"send","text":"make"},{"op":"wait","until":"exit"}]'"""
_EXAMPLE = '[{"op": "send", "text": "make"}, ...]'


class Batch(Mutation, frozen=True, kw_only=True):
    """Run several ops on one session, one after the other, until one fails."""

    id: Annotated[str, Meta(description="session for all steps")]
    steps: Annotated[
        list[dict[str, Any]],
        Meta(
            min_length=1,
            max_length=_MOST_STEPS,
            description='requests without `id`: {"op": "send", "text": "make"}, ...',
        ),
    ]


class Done(Struct, frozen=True, kw_only=True):
    """The answers of all steps, in order."""

    results: list[Any]


async def batch(session: Session, request: Batch) -> Done:
    """Handle every step as a request of its own."""
    results: list[Any] = []
    for number, step in enumerate(request.steps):
        if step.get("op") == "batch":
            raise BadRequest("a batch within a batch", step=number)
        payload = msgspec.json.encode({**step, "id": request.id})
        try:
            results.append(unwrapped(msgspec.json.decode(await session.perform(payload))))
        except AgentPtyError as error:
            details = {**error.details, "step": number, "results": results}
            raise from_wire(
                error.code, f"step {number} ({step.get('op')}): {error}", details
            ) from None
    return Done(results=results)


OP = Op(
    name="batch",
    answer="batched",
    request=Batch,
    where="session",
    handler=batch,
    commands=(
        Command(
            parts=(
                NAME,
                json_list("steps", _EXAMPLE, help="JSON array of requests; `-` reads stdin"),
            ),
            text=lambda _call, done: f"{len(done['results'])} step(s) done",
            examples=(_COMMAND,),
        ),
    ),
)
