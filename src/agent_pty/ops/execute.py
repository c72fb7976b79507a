"""`exec`: run one program in a terminal of its own and wait for it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from agent_pty.core.command import (
    STATUS,
    Call,
    Command,
    assignments,
    directory,
    duration,
    part,
    program,
)
from agent_pty.core.exit_code import UNKNOWN_STATUS, program_status
from agent_pty.errors import AgentPtyError, BadRequest, WaitTimeout, unwrapped
from agent_pty.ops.context import Registry
from agent_pty.ops.environment import (
    CALLERS_ENVIRONMENT,
    Added,
    Environment,
    Pager,
    check_environment,
)
from agent_pty.ops.gated import WAIT_APPROVAL, Gated
from agent_pty.ops.model import Gap, Wanted
from agent_pty.ops.new import Cols, Rows
from agent_pty.ops.op import Op

_WEEK_MS = 7 * 24 * 3600 * 1000
_INLINE = 64 * 1024


class Exec(Gated, frozen=True, kw_only=True):
    """Run one program, without a shell, in a terminal of its own and wait until it ends.

    After the time limit it continues as a session. A program that ends in time leaves no session.
    The command exits as the program did; 4: timeout, 122: its exit code is unknown.
    """

    argv: Annotated[list[str], Meta(min_length=1, description="program and arguments")]
    repo: Annotated[str, Meta(description="directory to start in")]
    timeout_ms: Annotated[
        int, Meta(ge=0, le=_WEEK_MS, description="milliseconds to wait; 0: no limit")
    ] = 30_000
    id: Annotated[str | None, Meta(description="session name; generated if not given")] = None
    inline: Annotated[
        int,
        Meta(ge=2, le=_INLINE, description="bytes of output that are returned without a session"),
    ] = _INLINE
    rows: Rows = 24
    cols: Cols = 80
    env: Added = field(default_factory=dict)
    environment: Environment = None
    pager: Pager = True


class Executed(Struct, frozen=True, kw_only=True):
    """What the program wrote and how it ended.

    *session* is where it continues if it is still *running*, or where the rest of a *truncated*
    output can be read. *gap* is what is missing before the output, because the disk is full.
    """

    output: str
    truncated: bool
    running: bool
    exit_code: int | None
    signal: int | None
    session: str | None
    gap: Gap | None = None


async def execute(registry: Registry, request: Exec) -> Executed:
    """Start the program, wait for its exit, read its output and remove the session."""
    if not request.argv[0]:
        raise BadRequest("argv must name a program", field="argv")
    check_environment(request.env, request.environment)
    name = await _started(registry, request)
    patience = request.timeout_ms or _WEEK_MS
    try:
        await _ask(registry, name, op="wait", until="exit", timeout_ms=patience, files=False)
        ended = True
    except WaitTimeout:
        ended = False
    except asyncio.CancelledError:  # the caller disconnected, or this daemon is leaving
        if not registry.leaves_everything:
            await registry.kill(name)
        raise
    done = await _result(registry, name, ended=ended, inline=request.inline)
    if done.session is None and request.key is None:
        await registry.kill(name)
    return done


async def remove_session(registry: Registry, request: Exec, done: Executed) -> None:
    """Remove the session of a program that has ended, after the answer was kept under its key.

    If the daemon dies before that, the same request finds the session and reads it again.
    """
    name = registry.made_by(request.key) if request.key is not None else None
    if done.session is None and name is not None:
        await registry.kill(name)


async def _started(registry: Registry, request: Exec) -> str:
    """Start the program; if the caller disconnects meanwhile, end the program."""
    creating = asyncio.get_running_loop().create_task(_create(registry, request))
    try:
        return await asyncio.shield(creating)
    except asyncio.CancelledError:
        with contextlib.suppress(AgentPtyError):  # it may not have started at all
            name = await creating
            if not registry.leaves_everything:
                await registry.kill(name)
        raise


async def _create(registry: Registry, request: Exec) -> str:
    wanted = Wanted(
        name=request.id,
        argv=request.argv,
        cwd=request.repo,
        env=request.env,
        environment=request.environment,
        pager=request.pager,
        rows=request.rows,
        cols=request.cols,
        marks=False,
        key=request.key,
        approval=request.approval,
    )
    return (await registry.create(wanted)).id


async def _result(registry: Registry, name: str, *, ended: bool, inline: int) -> Executed:
    head = await _ask(registry, name, op="read", since=0, max_bytes=inline)
    text = head["text"]
    if head["more"]:
        tail = await _ask(registry, name, op="read", tail=1000, max_bytes=inline // 2)
        text = text[: inline // 2] + "\n[... left out ...]\n" + tail["text"]
    whole = ended and not head["more"]
    return Executed(
        output=text,
        truncated=bool(head["more"]),
        exit_code=head["exit_code"],
        signal=head["signal"],
        running=not ended,
        session=None if whole else name,
        gap=Gap(**head["gap"]) if head["gap"] else None,
    )


async def _ask(registry: Registry, name: str, **fields: Any) -> dict[str, Any]:
    payload = msgspec.json.encode({**fields, "id": name})
    envelope = msgspec.json.decode(await registry.forward(name, payload))
    answer: dict[str, Any] = unwrapped(envelope)["data"]
    return answer


_TIMED_OUT = 4


async def _print_executed(call: Call, done: dict[str, Any]) -> int:
    if call.json or done["output"]:
        await call.show(done, done["output"].removesuffix("\n"))
    if done["running"]:
        await call.warn(f"it goes on as session {done['session']}")
        return _TIMED_OUT
    if done["gap"]:
        end = done["gap"]["end"]
        await call.warn(f"gap: text up to cursor {end} could not be kept")
    if done["truncated"]:
        await call.warn(f"all of it: agent-pty read {done['session']}")
    status = program_status(done["exit_code"], done["signal"])
    if status == UNKNOWN_STATUS and done["exit_code"] is None:
        await call.warn("its exit code is unknown: the process that would know it has ended")
    return status


OP = Op(
    name="exec",
    answer="executed",
    request=Exec,
    where="daemon",
    handler=execute,
    waits=True,
    continues=True,
    afterwards=remove_session,
    commands=(
        Command(
            parts=(
                part(
                    "name",
                    "--name",
                    into="id",
                    metavar="ID",
                    help="name of the session if it continues",
                ),
                directory(),
                duration("timeout_ms", default="30s", note=", 0: no limit"),
                assignments("env", "--env", help="environment variable; may be repeated"),
                CALLERS_ENVIRONMENT,
                STATUS,
                WAIT_APPROVAL,
                program(required=True),
            ),
            finish=_print_executed,
            hidden=frozenset({"inline"}),
            examples=("agent-pty exec -- git status", "agent-pty exec --timeout 2m -- make -j2"),
        ),
    ),
)
