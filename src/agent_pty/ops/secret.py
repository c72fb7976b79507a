"""`secret`: a person enters what no model may know."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agent_pty.core.command import NAME, Command
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Op, Request

_MOST = 4095


class Secret(Request, frozen=True, kw_only=True):
    """Ask for a secret at this terminal, without showing it, and type it into a session.

    The session must be waiting with echo off, as it does for a password. The value reaches no
    model, log, recording or screen; the record has its length.
    """

    id: Annotated[str, Meta(description="session that asks for the secret")]
    value: Annotated[str, Meta(max_length=_MOST, description="the secret; Enter is added")]


class Entered(Struct, frozen=True, kw_only=True):
    """The secret was typed."""

    id: str
    bytes: int


async def secret(registry: Registry, request: Secret) -> Entered:
    """Type the secret."""
    entered: Entered = await registry.approvals.enter_secret(request)
    return entered


OP = Op(
    name="secret",
    answer="secret_entered",
    request=Secret,
    where="daemon",
    handler=secret,
    audience="operator",
    commands=(
        Command(
            parts=(NAME,),
            local=True,
            hidden=frozenset({"value"}),
            examples=("agent-pty secret work",),
        ),
    ),
)
