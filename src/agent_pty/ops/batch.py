"""`batch`: many steps in one call, for agents that pay for every call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from agent_pty.core.command import NAME, Call, Command, Fields, json_list
from agent_pty.core.safe import safe_json
from agent_pty.errors import AgentPtyError, BadRequest, from_wire, unwrapped
from agent_pty.ops.context import Session
from agent_pty.ops.op import Mutation, Op

_MOST_STEPS = 200
_COMMAND = """agent-pty batch work '[{"op":"send","text":"make"},{"op":"wait","until":"exit"}]'"""
_FACTS = ("status", "for", "exit_code", "error", "hint", "matched", "match")
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


async def _print_steps(call: Call, fields: Fields) -> int:
    """Print the answer of each step; if one fails, those of the steps before it."""
    try:
        done = await call.ask("batch", **fields)
    except AgentPtyError as error:
        if not call.json:  # the JSON of the error has them
            await call.print(_text(fields["steps"], error.details.get("results", ())))
        raise
    results = done["results"]
    text = _text(fields["steps"], results)
    await call.show(done, f"{text}{len(results)} step(s) done")
    return 0


def _text(steps: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]]) -> str:
    answered = enumerate(zip(steps, results, strict=False))
    return "".join(
        f"step {number} ({step['op']}):{_answer(result.get('data'))}\n"
        for number, (step, result) in answered
    )


def _answer(data: Any) -> str:
    """Return text as it is, after the facts that it does not show; anything else as JSON.

    A wait is reported without its screen: a step of its own asks for that.
    """
    given = data if isinstance(data, dict) else {}
    waited = "matched" in given and "output" not in given
    text = "" if waited else given.get("output", given.get("text"))
    if not isinstance(text, str):
        return " " + safe_json(json.dumps(data, ensure_ascii=False))
    facts = [f" {name}={given[name]}" for name in _FACTS if given.get(name) is not None]
    lines = "\n" + text.removesuffix("\n") if text else ""
    return "".join(facts) + lines


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
            run=_print_steps,
            examples=(_COMMAND,),
        ),
    ),
)
