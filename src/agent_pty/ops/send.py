"""`send`: type text."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agent_pty.core.command import NAME, Command, part, text_or_file
from agent_pty.ops.context import Session
from agent_pty.ops.gated import WAIT_APPROVAL, Gated
from agent_pty.ops.op import Op


class Send(Gated, frozen=True, kw_only=True):
    """Type text into a session, as a person at the keyboard would."""

    id: Annotated[str, Meta(description="session to type into")]
    text: Annotated[str, Meta(description="text to type")]
    enter: Annotated[bool, Meta(description="press Enter afterwards")] = True
    raw: Annotated[
        bool, Meta(description="send the characters as they are: several lines are no paste")
    ] = False


class Sent(Struct, frozen=True, kw_only=True):
    """The text was typed; its effect can be read from *cursor* on."""

    cursor: int


async def send(session: Session, request: Send) -> Sent:
    """Type the text; answer when the terminal has taken every byte."""
    typed = session.input.type(request.text, enter=request.enter, raw=request.raw)
    return Sent(cursor=await typed)


OP = Op(
    name="send",
    tool="terminal.send",
    answer="sent",
    request=Send,
    where="session",
    handler=send,
    commands=(
        Command(
            parts=(NAME, text_or_file(), WAIT_APPROVAL),
            text="sent",
            hidden=frozenset({"raw"}),
            examples=(
                'agent-pty send work "cargo test"',
                "git diff | agent-pty send work -",
                "agent-pty send work 'git push -f' --wait-approval 5m",
            ),
        ),
        Command(
            name="type",
            summary="Type text without pressing Enter; several lines are sent as one paste.",
            parts=(
                NAME,
                text_or_file(),
                part(
                    "enter",
                    "--enter",
                    into="enter",
                    action="store_true",
                    help="press Enter afterwards",
                ),
            ),
            text="typed",
            hidden=frozenset({"approval", "wait_approval_ms", "raw"}),
            examples=(
                "agent-pty type work 'git commit -m '",
                "agent-pty type vim --file poem.txt",
            ),
        ),
    ),
)
