"""`resize`: change the size of a terminal."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agent_pty.core.command import NAME, Command, part
from agent_pty.errors import BadRequest
from agent_pty.ops.context import Session
from agent_pty.ops.new import Cols, Rows
from agent_pty.ops.op import Mutation, Op


class Resize(Mutation, frozen=True, kw_only=True):
    """Change the size of a session's terminal; its program is notified."""

    id: Annotated[str, Meta(description="session to resize")]
    rows: Rows
    cols: Cols
    viewer: Annotated[
        str | None, Meta(description="a person who is attached; then only while they are")
    ] = None


class Resized(Struct, frozen=True, kw_only=True):
    """The size that it has now."""

    rows: int
    cols: int


async def resize(session: Session, request: Resize) -> Resized:
    """Resize the screen and the terminal."""
    attached = request.viewer is not None
    rows, cols = session.viewers.resize(rows=request.rows, cols=request.cols, attached=attached)
    # A person who is attached is not asked: their window has some size, whatever the session has.
    if not attached and (rows, cols) != (request.rows, request.cols):
        raise BadRequest(
            f"session {request.id} was adopted from tmux and stays {rows}x{cols}: "
            "its size is changed there",
            field="rows",
        )
    return Resized(rows=rows, cols=cols)


OP = Op(
    name="resize",
    answer="resized",
    request=Resize,
    where="session",
    handler=resize,
    commands=(
        Command(
            parts=(
                NAME,
                part("rows", "--rows", into="rows", type=int, required=True, help="height in rows"),
                part(
                    "cols", "--cols", into="cols", type=int, required=True, help="width in columns"
                ),
            ),
            hidden=frozenset({"viewer"}),
            text=lambda call, now: f"resized {call.options.name} to {now['rows']}x{now['cols']}",
            examples=("agent-pty resize work --rows 40 --cols 120",),
        ),
    ),
)
