"""`read`: what the program wrote."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from agent_pty.ops.context import Session
from agent_pty.ops.model import Reading
from agent_pty.ops.op import LARGEST_PAGE, Cursor, Op, Request


class Read(Request, frozen=True, kw_only=True):
    """Read the transcript: exact output without escapes, from a cursor on."""

    id: Annotated[str, Meta(description="session to read")]
    since: Annotated[Cursor | None, Meta(description="cursor of an earlier answer")] = None
    tail: Annotated[Cursor | None, Meta(description="only the last N lines")] = None
    max_bytes: Annotated[int, Meta(ge=1, description="at most this much text")] = LARGEST_PAGE
    grep: Annotated[str | None, Meta(description="only lines matching this RE2 pattern")] = None


async def read(session: Session, request: Read) -> Reading:
    """Read one page."""
    return session.transcript.read(
        since=request.since,
        tail=request.tail,
        max_bytes=min(request.max_bytes, LARGEST_PAGE),
        grep=request.grep,
    )


OP = Op(name="read", answer="reading", request=Read, where="session", handler=read)
