"""`doing`: what a session does now, for people who look at many of them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from agent_pty.ops.context import Session
from agent_pty.ops.op import Op, Request

# At its prompt; at work; reading an answer; reading one that is not shown; held by the guard.
What = Literal["idle", "busy", "waiting", "secret", "approval"]


class Doing(Request, frozen=True, kw_only=True):
    """Say what a session does: idle, busy, waiting for input, for a secret or for an approval."""

    id: Annotated[str, Meta(description="session to look at")]


class DoingNow(Struct, frozen=True, kw_only=True):
    """What a session does, seen once; *what* is null for a program that has ended.

    *command* is what runs in the session, null if nothing does but its own program.
    """

    what: What | None
    command: str | None = None
    cwd: str | None = None
    # Where the transcript continues.
    cursor: int


async def doing(session: Session, _request: Doing) -> DoingNow:
    """Look at the foreground once; nothing is typed or learned."""
    what, command, cwd = session.doing()
    return DoingNow(what=what, command=command, cwd=cwd, cursor=session.cursor)


OP = Op(name="doing", answer="doing", request=Doing, where="session", handler=doing)
