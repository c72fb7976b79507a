"""`permit`: what the settings under `[permission]` leave to a person. The six tools ask for it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from agent_pty.ops.context import Registry
from agent_pty.ops.op import Mutation, Op


class Permit(Mutation, frozen=True, kw_only=True):
    """Use an operator's approval of something that `[permission]` asks about, or request one.

    An approval is for one use of exactly this, in this directory and, if one is named, in this
    session.
    """

    what: Annotated[
        Literal["terminal_start", "terminal_stop"], Meta(description="key under `[permission]`")
    ]
    argv: Annotated[
        list[str],
        Meta(min_length=1, description="program and arguments, or the lines for a session's shell"),
    ]
    id: Annotated[
        str | None, Meta(description="session that gets the lines, or that is stopped")
    ] = None
    cwd: Annotated[str | None, Meta(description="directory it is about; null: not known")] = None


class Permitted(Struct, frozen=True, kw_only=True):
    """It may be done now.

    *approval* is what was spent; null if the policy itself stops the program, which is asked then.
    """

    approval: str | None


async def permit(registry: Registry, request: Permit) -> Permitted:
    """Spend an approval, or refuse with a request for one."""
    permitted: Permitted = await registry.approvals.permit(request)
    return permitted


# No tool and no command: it is for our own tools, which run in the gateway or in a Python program.
OP = Op(
    name="permit",
    answer="permitted",
    request=Permit,
    where="daemon",
    handler=permit,
    surfaces=frozenset({"socket", "mcp"}),
)
