"""`click`, `wheel` and `drag`: use the mouse, at a cell or at visible text."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from agent_pty.core.command import NAME, Command, part, screen_cell
from agent_pty.errors import BadRequest
from agent_pty.ops.context import Session
from agent_pty.ops.new import MOST_COLS, MOST_ROWS
from agent_pty.ops.op import Mutation, Op

Row = Annotated[int, Meta(ge=0, lt=MOST_ROWS, description="row, counted from 0")]
Col = Annotated[int, Meta(ge=0, lt=MOST_COLS, description="column, counted from 0")]
Held = Annotated[
    list[Literal["ctrl", "alt", "shift"]], Meta(description="modifier keys to hold meanwhile")
]


class Click(Mutation, frozen=True, kw_only=True):
    """Click in a session, at a cell or in the middle of visible text."""

    id: Annotated[str, Meta(description="session to click in")]
    row: Row | None = None
    col: Col | None = None
    text: Annotated[str | None, Meta(description="visible text to click on")] = None
    button: Annotated[Literal["left", "middle", "right"], Meta(description="mouse button")] = "left"
    count: Annotated[int, Meta(ge=1, le=3, description="number of clicks; 2 is a double click")] = 1
    mods: Held = field(default_factory=list)


class Wheel(Mutation, frozen=True, kw_only=True):
    """Turn the mouse wheel over a cell."""

    id: Annotated[str, Meta(description="session to scroll in")]
    direction: Annotated[
        Literal["up", "down", "left", "right"], Meta(description="direction to scroll")
    ]
    row: Row = 0
    col: Col = 0
    count: Annotated[int, Meta(ge=1, le=1000, description="number of notches")] = 1


class Drag(Mutation, frozen=True, kw_only=True):
    """Press the left button at one cell, move to another and release it."""

    id: Annotated[str, Meta(description="session to drag in")]
    row: Row
    col: Col
    to_row: Row
    to_col: Col


class Clicked(Struct, frozen=True, kw_only=True):
    """The cell where the mouse is now; the effect can be read from *cursor* on."""

    cursor: int
    row: int
    col: int


async def click(session: Session, request: Click) -> Clicked:
    """Press and release the button."""
    row, col = _target(session, request)
    cursor = await session.input.click(
        row=row, col=col, button=request.button, count=request.count, mods=frozenset(request.mods)
    )
    return Clicked(cursor=cursor, row=row, col=col)


def _target(session: Session, request: Click) -> tuple[int, int]:
    if request.text is None:
        if request.row is None or request.col is None:
            raise BadRequest("give row and col, or text", field="row")
        return request.row, request.col
    found = session.screen.find(request.text)
    if not found:
        raise BadRequest(f"{request.text!r} is not on the screen", field="text")
    if len(found) > 1:
        places = ", ".join(f"{place.row},{place.col}" for place in found[:10])
        raise BadRequest(
            f"{request.text!r} is on the screen {len(found)} times ({places}): give row and col",
            field="text",
        )
    return found[0].row, found[0].col + found[0].width // 2


async def wheel(session: Session, request: Wheel) -> Clicked:
    """Turn the wheel."""
    cursor = await session.input.wheel(
        row=request.row, col=request.col, direction=request.direction, count=request.count
    )
    return Clicked(cursor=cursor, row=request.row, col=request.col)


async def drag(session: Session, request: Drag) -> Clicked:
    """Press, move and release."""
    cursor = await session.input.drag(
        start=(request.row, request.col), end=(request.to_row, request.to_col)
    )
    return Clicked(cursor=cursor, row=request.to_row, col=request.to_col)


_AT = screen_cell("at", "--at", row="row", col="col", help="cell, counted from 0")

CLICK = Op(
    name="click",
    answer="clicked",
    request=Click,
    where="session",
    handler=click,
    commands=(
        Command(
            parts=(
                NAME,
                part("text", into="text", nargs="?", help="click in the middle of this text"),
                _AT,
                part(
                    "mod",
                    "--mod",
                    into="mods",
                    action="append",
                    choices=["ctrl", "alt", "shift"],
                    help="hold this key; may be repeated",
                ),
            ),
            text=lambda _call, clicked: f"clicked {clicked['row']},{clicked['col']}",
            examples=("agent-pty click tui OK", "agent-pty click tui --at 4,10 --button right"),
        ),
    ),
)
WHEEL = Op(
    name="wheel",
    answer="wheeled",
    request=Wheel,
    where="session",
    handler=wheel,
    commands=(
        Command(
            parts=(NAME, _AT),
            text=lambda call, _turned: f"wheel {call.options.direction} {call.options.count or 1}",
            examples=("agent-pty wheel tui down --count 3",),
        ),
    ),
)
DRAG = Op(
    name="drag",
    answer="dragged",
    request=Drag,
    where="session",
    handler=drag,
    commands=(
        Command(
            parts=(
                NAME,
                screen_cell("start", row="row", col="col", help="where to press"),
                screen_cell("end", row="to_row", col="to_col", help="where to release"),
            ),
            text=lambda _call, dragged: f"dragged to {dragged['row']},{dragged['col']}",
            examples=("agent-pty drag tui 2,0 2,20",),
        ),
    ),
)
