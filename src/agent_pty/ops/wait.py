"""`wait` and `wait_many`: return when a condition is true, without polling."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from agent_pty.core.command import (
    TOKENS,
    Call,
    Command,
    Fields,
    Part,
    argument,
    duration,
    fitted_text,
    part,
    show_fitted_json,
    text_room,
)
from agent_pty.core.output_paused import paused_remark
from agent_pty.core.short_json import shortened
from agent_pty.errors import (
    AgentPtyError,
    BadRequest,
    SessionEnded,
    Usage,
    WaitTimeout,
    from_wire,
    unwrapped,
)
from agent_pty.ops.context import Registry, Session
from agent_pty.ops.model import Observation
from agent_pty.ops.op import Cursor, Keyed, Op, failure
from agent_pty.ops.wait_text import last_lines, matched_line

_WEEK_MS = 7 * 24 * 3600 * 1000
_MOST_CONDITIONS = 32

Conditions = Annotated[
    str | list[str],
    Meta(
        description="text, regex:P, screen:P, prompt, idle:2s, cell:ID or exit; "
        "the first that is true ends the wait; P is an RE2 pattern whose ^ and $ match at line "
        "borders"
    ),
]
Timeout = Annotated[
    int, Meta(ge=0, le=_WEEK_MS, description="give up after this many milliseconds; 0 tests once")
]


class Wait(Keyed, frozen=True, kw_only=True):
    """Wait until a condition is true: text appears, output stops or the program ends."""

    id: Annotated[str, Meta(description="session to wait for")]
    until: Conditions
    timeout_ms: Timeout = 30_000
    fail_on: Annotated[str | list[str], Meta(description="conditions that mean failure")] = field(
        default_factory=list
    )
    since: Annotated[
        Cursor | None,
        Meta(description="search text from this cursor on, not from the last input on"),
    ] = None
    files: Annotated[
        bool, Meta(description="also say which files of the git work tree have changed")
    ] = True


class WaitMany(Keyed, frozen=True, kw_only=True):
    """Wait for several sessions at once, until any of them or all of them match."""

    ids: Annotated[
        list[str], Meta(min_length=1, max_length=1000, description="sessions to wait for")
    ]
    until: Conditions
    mode: Annotated[Literal["any", "all"], Meta(description="how many must match")] = "any"
    timeout_ms: Timeout = 30_000
    fail_on: Annotated[str | list[str], Meta(description="conditions that mean failure")] = field(
        default_factory=list
    )


class Outcome(Struct, frozen=True, kw_only=True):
    """How the wait ended in one session: an observation, or an error code and a message."""

    id: str
    code: str
    observation: dict[str, Any] | None
    error: str | None


class Outcomes(Struct, frozen=True, kw_only=True):
    """The answers of the sessions, in the order in which they came."""

    mode: str
    outcomes: list[Outcome]


async def wait(session: Session, request: Wait) -> Observation:
    """Wait in the session's own host."""
    if not request.until:
        raise BadRequest("nothing to wait for: give at least one condition", field="until")
    return await session.waits.wait(
        until=several(request.until),
        fail_on=several(request.fail_on),
        patience=request.timeout_ms / 1000,
        since=request.since,
        files=request.files,
    )


async def wait_many(registry: Registry, request: WaitMany) -> Outcomes:
    """Ask every session's host and take the answers as they come.

    A failed session ends the wait for all sessions, but not the wait for any of them.
    """
    waits = {
        asyncio.create_task(_one(registry, name, request))  # noqa: TID251  held and awaited here
        for name in dict.fromkeys(request.ids)
    }
    outcomes: list[Outcome] = []
    try:
        while waits:
            done, waits = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            ended = [task.result() for task in done]
            outcomes += sorted(ended, key=lambda outcome: request.ids.index(outcome.id))
            if _decided(request.mode, outcomes):
                break
    finally:
        for task in waits:
            task.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    return _judged(request, outcomes)


async def _one(registry: Registry, name: str, request: WaitMany) -> Outcome:
    fields = {
        "op": "wait",
        "id": name,
        "until": request.until,
        "fail_on": request.fail_on,
        "timeout_ms": request.timeout_ms,
        "files": False,
    }
    if request.key is not None:
        fields["key"] = f"{request.key}/{name}"
    payload = msgspec.json.encode(fields)
    try:
        answer = await registry.forward(name, payload)
    except AgentPtyError as error:  # unknown, or lost: an outcome like any other
        answer = failure(error)
    try:
        seen = unwrapped(msgspec.json.decode(answer))["data"]
    except AgentPtyError as error:
        found = error.details.get("observation")
        return Outcome(id=name, code=error.code, observation=found, error=str(error))
    return Outcome(id=name, code="matched", observation=seen, error=None)


def _decided(mode: str, outcomes: Sequence[Outcome]) -> bool:
    matched = [outcome.code == "matched" for outcome in outcomes]
    return any(matched) if mode == "any" else not all(matched)


def _judged(request: WaitMany, outcomes: list[Outcome]) -> Outcomes:
    matched = [outcome for outcome in outcomes if outcome.code == "matched"]
    enough = bool(matched) if request.mode == "any" else len(matched) == len(set(request.ids))
    answer = Outcomes(mode=request.mode, outcomes=outcomes)
    if enough:
        return answer
    worst = next(outcome for outcome in outcomes if outcome.code != "matched")
    raise from_wire(
        worst.code, f"{worst.id}: {worst.error}", {"id": worst.id, **msgspec.to_builtins(answer)}
    )


def several(conditions: str | list[str]) -> list[str]:
    """Return conditions as a list, which must not be too long."""
    listed = [conditions] if isinstance(conditions, str) else conditions
    if len(listed) > _MOST_CONDITIONS:
        raise BadRequest(f"{len(listed)} conditions; at most {_MOST_CONDITIONS} at once")
    return listed


_FAIL_ON = 7


async def _wait(call: Call, fields: Fields) -> int:
    o = call.options
    if o.any and o.all:
        raise Usage("--any or --all, not both")
    if o.since is not None and len(o.names) > 1:
        raise Usage("--since is a cursor of one session: wait for one")
    if len(o.names) > 1 or o.any or o.all:
        del fields["since"]
        return await _wait_for_several(call, {**fields, "mode": "all" if o.all else "any"})
    try:
        # Text shows nothing of the work tree, so nobody has to wait for it.
        seen = await call.ask("wait", id=o.names[0], **{**fields, "files": call.json})
    except (WaitTimeout, SessionEnded) as error:
        if not call.json:
            await call.print(last_lines(error.details.get("observation")))
        raise
    rest = f"agent-pty screen {o.names[0]}"
    if call.json:
        await show_fitted_json(call, seen, rest=rest)
    else:
        await _print_seen(call, seen)
    return _FAIL_ON if seen["failed"] else 0


async def _print_seen(call: Call, seen: dict[str, Any]) -> None:
    await call.print(f"{matched_line(seen)}\n")
    if not call.options.brief:
        rest = f"agent-pty screen {seen['id']}"
        await call.print(await fitted_text(call, seen["screen"]["text"], rest=rest))
    await _print_remarks(call, seen)


async def _print_remarks(call: Call, seen: dict[str, Any]) -> None:
    """Say what the screen does not show; a host of an earlier build does not know it."""
    if seen.get("guess"):
        await call.warn(f"the prompt of {seen['id']} is a guess: the program does not mark it")
    if seen.get("output_paused"):
        await call.warn(paused_remark(seen["id"]))


async def _wait_for_several(call: Call, fields: Fields) -> int:
    answer = await call.ask("wait_many", ids=call.options.names, **fields)
    if call.json:
        await call.show_json(_fitted_outcomes(call, answer))
    for outcome in () if call.json else answer["outcomes"]:
        seen = outcome["observation"]
        line = f"{outcome['id']} {outcome['code']} {seen['matched'] if seen else ''}".rstrip()
        guess = " (a guess)" if seen and seen.get("guess") else ""
        await call.print(f"{line}{guess}\n")
    seen_all = [outcome["observation"] for outcome in answer["outcomes"]]
    return _FAIL_ON if any(seen and seen["failed"] for seen in seen_all) else 0


def _fitted_outcomes(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
    """Give each session its part of the budget of `--max-tokens`: every outcome stays."""
    room, outcomes = text_room(call), answer["outcomes"]
    if room is None:
        return answer
    part_of_room = room // len(outcomes)
    return {
        **answer,
        "outcomes": [
            shortened(one, part_of_room, rest=f"all of it: agent-pty screen {one['id']}")
            for one in outcomes
        ],
    }


OP = Op(
    name="wait",
    tool="terminal.wait",
    answer="observation",
    request=Wait,
    where="session",
    handler=wait,
    continues=True,
    commands=(
        Command(
            parts=(
                Part(
                    arguments=(
                        argument(
                            "names", nargs="+", metavar="name", help="one session, or several"
                        ),
                    ),
                    fields=("id",),
                ),
                part(
                    "until",
                    "--until",
                    into="until",
                    action="append",
                    required=True,
                    metavar="COND",
                    help="text, regex:P, screen:P, prompt, idle:2s, cell:ID, exit; "
                    "^ and $ in P match at line borders; may be repeated",
                ),
                part(
                    "fail_on",
                    "--fail-on",
                    into="fail_on",
                    action="append",
                    default=[],
                    metavar="COND",
                    help="condition that means failure: exit status 7",
                ),
                duration("timeout_ms", default="30s"),
                TOKENS,
                part("brief", "--brief", action="store_true", help="print no screen"),
                part("any", "--any", action="store_true", help="until one session matches"),
                part("all", "--all", action="store_true", help="until all sessions match"),
            ),
            run=_wait,
            hidden=frozenset({"files"}),
            examples=(
                'agent-pty wait work --until "finished in" --fail-on "regex:^error" --timeout 5m',
                "agent-pty wait a b --all --until prompt",
            ),
        ),
    ),
)
MANY = Op(
    name="wait_many",
    answer="observations",
    request=WaitMany,
    where="daemon",
    handler=wait_many,
    continues=True,
)
