"""`batch`: many steps in one call, for agents who pay for every turn."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from agent_pty.errors import BadRequest, from_wire
from agent_pty.ops.context import Session
from agent_pty.ops.op import Mutation, Op

_MOST_STEPS = 200


class Batch(Mutation, frozen=True, kw_only=True):
    """Run several ops on one session, one after the other, up to the first that fails."""

    id: Annotated[str, Meta(description="session all steps are for")]
    steps: Annotated[
        list[dict[str, Any]],
        Meta(
            min_length=1, max_length=_MOST_STEPS, description='{"op": "send", "text": "make"}, ...'
        ),
    ]


class Done(Struct, frozen=True, kw_only=True):
    """The answers of all steps, in order."""

    results: list[Any]


async def batch(session: Session, request: Batch) -> Done:
    """Send every step down the same road as if it had come alone."""
    results: list[Any] = []
    for number, step in enumerate(request.steps):
        if step.get("op") == "batch":
            raise BadRequest("a batch within a batch", step=number)
        payload = msgspec.json.encode({**step, "id": request.id})
        envelope = msgspec.json.decode(await session.perform(payload))
        if not envelope["ok"]:
            details = {**envelope["details"], "step": number, "results": results}
            message = f"step {number} ({step.get('op')}): {envelope['error']}"
            raise from_wire(envelope["code"], message, details)
        results.append(envelope["data"])
    return Done(results=results)


OP = Op(name="batch", answer="batched", request=Batch, where="session", handler=batch)
