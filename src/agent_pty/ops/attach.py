"""`attach`: a person at the terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from msgspec import Meta

from agent_pty.core.command import NAME, Command, part
from agent_pty.core.safe import Allowed
from agent_pty.ops.context import Session
from agent_pty.ops.op import Op, Request


class Attach(Request, frozen=True, kw_only=True):
    """Show a session live in this terminal and, unless read-only, type into it."""

    id: Annotated[str, Meta(description="session to attach to")]
    read_only: Annotated[bool, Meta(description="watch only")] = False
    history_bytes: Annotated[int, Meta(ge=0, description="how much of the past to show")] = 12_000
    title: Annotated[bool, Meta(description="let the program set this terminal's title")] = False
    clipboard: Annotated[bool, Meta(description="let the program write this clipboard")] = False
    raw: Annotated[bool, Meta(description="every byte as it is, queries too: not safe")] = False


async def attach(session: Session, request: Attach) -> AsyncIterator[bytes]:
    """Yield what the person sees; what they type is input of the session."""
    async for data in session.viewers.attach(
        read_only=request.read_only,
        history=request.history_bytes,
        allowed=Allowed(title=request.title, clipboard=request.clipboard),
        raw=request.raw,
    ):
        yield data


OP = Op(
    name="attach",
    answer="attached",
    request=Attach,
    where="session",
    handler=attach,
    stream=True,
    commands=(
        Command(
            parts=(
                NAME,
                part("timeout", "--timeout", metavar="DUR", help="leave after 500ms, 30s, 5m"),
                part(
                    "detach_key",
                    "--detach-key",
                    default="ctrl-]",
                    metavar="KEY",
                    help="the key that leaves (default: ctrl-])",
                ),
            ),
            local=True,
            examples=("agent-pty attach work", "agent-pty attach work --read-only --timeout 2s"),
        ),
    ),
)
