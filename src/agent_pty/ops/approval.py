"""Approvals: `approve`, `deny` and `approvals`. Agents ask for them, operators grant them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from agent_pty.core.command import Call, Command, Fields, duration, part
from agent_pty.core.policy.approval import LONGEST_TTL_MS
from agent_pty.core.policy.shown_command import shown_command
from agent_pty.errors import BadRequest, Usage
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Mutation, Op, Request

Secret = Annotated[str | None, Meta(description="the approver's secret, if the policy demands one")]


class Approve(Mutation, frozen=True, kw_only=True):
    """Approve one command once, for one session; or approve what an agent has asked for.

    The answer has a one-time token for `send --approval`. It is bound to exactly this command, to
    the session and its directory, and to the rule and the policy that demand the approval. Only
    operators may approve: callers outside of every session, at the Unix socket.
    """

    id: Annotated[str | None, Meta(description="session the command is for")] = None
    command: Annotated[str | None, Meta(description="exactly the text that will be sent")] = None
    ttl_ms: Annotated[
        int, Meta(ge=1, le=LONGEST_TTL_MS, description="how long it counts, in milliseconds")
    ] = 600_000
    rule: Annotated[str | None, Meta(description="label of the rule that must demand it")] = None
    request: Annotated[str | None, Meta(description="id of a request, as `approvals` has it")] = (
        None
    )
    secret: Secret = None


class Deny(Mutation, frozen=True, kw_only=True):
    """Say no to what an agent has asked for."""

    request: Annotated[str, Meta(description="id of the request, as `approvals` has it")]
    secret: Secret = None


class Approvals(Request, frozen=True, kw_only=True):
    """List what waits for an operator's approval."""

    id: Annotated[str | None, Meta(description="only of this session")] = None


class Granted(Struct, frozen=True, kw_only=True):
    """An approval; the token is nowhere else."""

    id: str
    token: str
    session_id: str
    command: str
    rule: str
    created_at: str
    expires_at: str


class Denied(Struct, frozen=True, kw_only=True):
    """The request that was denied."""

    id: str
    session_id: str
    command: str
    rule: str


class Pending(Struct, frozen=True, kw_only=True):
    """A request that waits; *command* is without its secrets, *gate* what has stopped it."""

    id: str
    session_id: str
    command: str
    rule: str
    reason: str | None
    gate: str
    cwd: str | None
    created_at: str
    expires_at: str
    requested_by: dict[str, Any] | None


async def approve(registry: Registry, request: Approve) -> Granted:
    """Approve a command, or a request for one."""
    given = (request.id is not None, request.command is not None)
    if given not in ((True, True), (False, False)) or given[0] == (request.request is not None):
        raise BadRequest(
            "a field is missing, or one too many: give `id` and `command`, or `request` alone",
            field="request",
        )
    granted: Granted = await registry.approvals.approve(request)
    return granted


async def deny(registry: Registry, request: Deny) -> Denied:
    """Deny a request."""
    denied: Denied = await registry.approvals.deny(request)
    return denied


async def approvals(registry: Registry, request: Approvals) -> list[Pending]:
    """Return the requests of one session or of all, the oldest first."""
    found: list[Pending] = await registry.approvals.pending(request.id)
    return found


async def _approve(call: Call, fields: Fields) -> int:
    words = [call.options.name, call.options.command]
    if (call.options.request is None) == (None in words):
        raise Usage("give NAME and COMMAND, or --request ID alone")
    granted = await call.ask("approve", **fields)
    await call.show(granted, str(granted["token"]))
    return 0


async def _list(call: Call, fields: Fields) -> int:
    if call.options.follow:
        return await call.approval_events(fields["id"])
    found = await call.ask("approvals", **fields)
    text = "".join(_shown(one) for one in found) or "no request waits for an approval\n"
    await call.show(found, text.removesuffix("\n"))
    return 0


def _shown(one: dict[str, Any]) -> str:
    """Describe a request so that nothing in it can hide: one fact per line."""
    lines = [
        f"{one['id']}  {one['rule']}  in session {one['session_id']}",
        *(f"    {line}" for line in shown_command(one["command"])),
        f"    in {shown_command(one['cwd'] or 'a directory that is not known')[0]}",
        f"    stopped by the {one['gate']} gate: {shown_command(one['reason'] or '-')[0]}",
        f"    asked for by {_who(one['requested_by'])}, until {one['expires_at']}",
    ]
    return "\n".join(lines) + "\n"


def _who(by: dict[str, Any] | None) -> str:
    return "nobody known" if by is None else f"{by['kind']} over {by.get('transport', '?')}"


_SECRET = part(
    "secret", "--secret", into="secret", metavar="SECRET", help="if the policy demands one"
)

APPROVE = Op(
    name="approve",
    secret=True,
    tool="terminal.approve",
    answer="policy_approval",
    request=Approve,
    where="daemon",
    handler=approve,
    grants=True,
    commands=(
        Command(
            parts=(
                part("name", into="id", nargs="?", help="the session"),
                part("command", into="command", nargs="?", help="exactly what will be sent"),
                part("request", "--request", into="request", metavar="ID", help="what was asked"),
                duration("ttl_ms", "--ttl", default="10m", note=": how long it counts"),
                _SECRET,
            ),
            run=_approve,
            examples=(
                "agent-pty approve work 'git push --force origin topic'",
                "agent-pty approve --request 3f9a0c12-77aa01bc",
                "agent-pty approve work 'terraform apply' --ttl 2m --rule 'terraform apply'",
            ),
        ),
    ),
)
DENY = Op(
    name="deny",
    answer="approval_denied",
    request=Deny,
    where="daemon",
    handler=deny,
    grants=True,
    commands=(
        Command(
            parts=(
                part("request", "--request", into="request", metavar="ID", required=True),
                _SECRET,
            ),
            text=lambda _call, denied: f"denied {denied['id']}",
            examples=("agent-pty deny --request 3f9a0c12-77aa01bc",),
        ),
    ),
)
LIST = Op(
    name="approvals",
    answer="approvals",
    request=Approvals,
    where="daemon",
    handler=approvals,
    commands=(
        Command(
            parts=(
                part("name", into="id", nargs="?", help="only of this session"),
                part("follow", "--follow", "-f", action="store_true", help="wait for more"),
            ),
            run=_list,
            examples=("agent-pty approvals", "agent-pty approvals work --follow --json"),
        ),
    ),
)
