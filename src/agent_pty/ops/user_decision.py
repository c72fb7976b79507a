"""`user_decision`: the user of an MCP client decides about a request that this client has made."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from agent_pty.ops.approval import Pending
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Mutation, Op


class UserDecision(Mutation, frozen=True, kw_only=True):
    """Carry what the user of an MCP client said about a request; without it, what to ask.

    Only if the policy has `ask_user`, and only for requests of this client itself, which must be a
    known process outside of every session.
    """

    request: Annotated[str, Meta(description="id of the request, as the refusal has it")]
    approved: Annotated[
        bool | None, Meta(description="what the user said; null: the user was not asked yet")
    ] = None


async def user_decision(registry: Registry, request: UserDecision) -> Pending:
    """Decide, or return what there is to decide."""
    pending: Pending = await registry.approvals.decide_as_user(request)
    return pending


# No tool and no command, and on no surface but MCP: the gateway's own code asks for it after it
# has asked the user, and nothing that a model writes into a call gets there.
OP = Op(
    name="user_decision",
    answer="approval_request",
    request=UserDecision,
    where="daemon",
    handler=user_decision,
    surfaces=frozenset({"mcp"}),
)
