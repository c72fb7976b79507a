"""`attach`: show a session live to a person, who may type into it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from msgspec import Meta

from agent_pty.core.command import NAME, Command, part
from agent_pty.core.safe import Allowed
from agent_pty.core.window import Window
from agent_pty.ops.context import Session
from agent_pty.ops.new import Cols, Rows
from agent_pty.ops.op import Op, Request


class Attach(Request, frozen=True, kw_only=True):
    """Show a session live in this terminal and, unless read-only, type into it."""

    id: Annotated[str, Meta(description="session to attach to")]
    read_only: Annotated[bool, Meta(description="watch only, without typing")] = False
    history_bytes: Annotated[int, Meta(ge=0, description="bytes of past output to show")] = 12_000
    title: Annotated[bool, Meta(description="let the program set your terminal's title")] = False
    clipboard: Annotated[bool, Meta(description="let the program write your clipboard")] = False
    raw: Annotated[bool, Meta(description="pass every byte on, queries too: not safe")] = False
    repaint: Annotated[
        bool, Meta(description="begin with the screen as it is, without past output")
    ] = False
    viewer: Annotated[
        str | None,
        Meta(
            description="names the person who may have to attach again; "
            "the answer has how many bytes of theirs were typed"
        ),
    ] = None
    rows: Annotated[Rows | None, Meta(description="height while they are attached")] = None
    cols: Annotated[Cols | None, Meta(description="width while they are attached")] = None
    alternate: Annotated[
        bool, Meta(description="the caller has set its alternate screen, and it must stay set")
    ] = False
    notice: Annotated[
        str | None, Meta(description="shown on the last row, at most until something is typed")
    ] = None

    @property
    def window(self) -> Window:
        """The person's window."""
        size = None if self.rows is None or self.cols is None else (self.rows, self.cols)
        return Window(size=size, alternate=self.alternate, notice=self.notice)


async def attach(session: Session, request: Attach) -> AsyncIterator[bytes]:
    """Yield what the person sees; what they type is input of the session."""
    async for data in session.viewers.attach(
        read_only=request.read_only,
        history=request.history_bytes,
        allowed=Allowed(
            title=request.title, clipboard=request.clipboard, screens=not request.alternate
        ),
        raw=request.raw,
        repaint=request.repaint,
        window=request.window,
    ):
        yield data


OP = Op(
    name="attach",
    answer="attached",
    request=Attach,
    where="session",
    handler=attach,
    stream=True,
    carries="bytes",
    commands=(
        Command(
            parts=(
                NAME,
                part(
                    "history_bytes",
                    "--history-bytes",
                    into="history_bytes",
                    type=int,
                    metavar="N",
                    help="let so much past output scroll by in your terminal, instead of showing "
                    "the session on its alternate screen (elsewhere: default 12000)",
                ),
                part(
                    "timeout", "--timeout", "-t", metavar="DUR", help="detach after 500ms, 30s, 5m"
                ),
                part(
                    "detach_key",
                    "--detach-key",
                    default="ctrl-]",
                    metavar="KEY",
                    help="key that detaches (default: ctrl-])",
                ),
            ),
            local=True,
            hidden=frozenset({"viewer", "repaint", "rows", "cols", "alternate", "notice"}),
            examples=("agent-pty attach work", "agent-pty attach work --read-only --timeout 2s"),
        ),
    ),
)
