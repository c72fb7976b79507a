"""`screen`: look."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from agent_pty.ops.context import Session
from agent_pty.ops.model import Screen
from agent_pty.ops.op import Op, Request


class LookAt(Request, frozen=True, kw_only=True):
    """Read the visible screen of a session: text, cursor, modes and what it means."""

    id: Annotated[str, Meta(description="session to look at")]


async def screen(session: Session, _request: LookAt) -> Screen:
    """Render the screen now."""
    return session.look()


OP = Op(name="screen", answer="screen", request=LookAt, where="session", handler=screen)
