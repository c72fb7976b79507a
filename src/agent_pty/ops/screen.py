"""`screen`, `changes`, `find` and `render`: look."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agent_pty.core.command import NAME, TOKENS, Command, part
from agent_pty.ops.context import Form, Session
from agent_pty.ops.model import Changes, Screen
from agent_pty.ops.op import Op, Request
from agent_pty.ops.screen_text import print_screen

_MOST_SCROLLBACK = 10_000


class LookAt(Request, frozen=True, kw_only=True):
    """Read the visible screen of a session: text, cursor, modes and what it means."""

    id: Annotated[str, Meta(description="session to look at")]


class WhatChanged(Request, frozen=True, kw_only=True):
    """Read only the rows that changed since a screen seen before."""

    id: Annotated[str, Meta(description="session to look at")]
    since: Annotated[str, Meta(description="`hash` of an earlier screen")]


class Find(Request, frozen=True, kw_only=True):
    """Find text on the screen; the answer is rows and columns, to click at."""

    id: Annotated[str, Meta(description="session to look at")]
    text: Annotated[str, Meta(min_length=1, description="what to look for")]


class Render(Request, frozen=True, kw_only=True):
    """Return the screen as ANSI, HTML, SVG or PNG."""

    id: Annotated[str, Meta(description="session to look at")]
    format: Annotated[Form, Meta(description="text, ansi, html, svg, png (as base64)")] = "text"
    scrollback: Annotated[
        int, Meta(ge=0, le=_MOST_SCROLLBACK, description="rows above the screen to include")
    ] = 0


class Found(Struct, frozen=True, kw_only=True):
    """One place, counted in cells from 0."""

    row: int
    col: int
    width: int


class Rendered(Struct, frozen=True, kw_only=True):
    """The screen in the form asked for."""

    format: str
    content: str


async def screen(session: Session, _request: LookAt) -> Screen:
    """Render the screen now."""
    return session.screen.read()


async def changes(session: Session, request: WhatChanged) -> Changes:
    """Compare with a screen that was given out before."""
    return session.screen.changes(request.since)


async def find(session: Session, request: Find) -> list[Found]:
    """Look in the rows as displayed."""
    places = session.screen.find(request.text)
    return [Found(row=place.row, col=place.col, width=place.width) for place in places]


async def render(session: Session, request: Render) -> Rendered:
    """Render in the form asked for."""
    content = await session.screen.render(request.format, scrollback=request.scrollback)
    return Rendered(format=request.format, content=content)


SCREEN = Op(
    name="screen",
    answer="screen",
    request=LookAt,
    where="session",
    handler=screen,
    commands=(
        Command(
            parts=(
                NAME,
                part(
                    "format",
                    "--format",
                    choices=["text", "markdown", "json", "ansi", "html"],
                    default="text",
                    help="default: text",
                ),
                part(
                    "scrollback",
                    "--scrollback",
                    type=int,
                    default=0,
                    metavar="N",
                    help="rows above it too",
                ),
                part("since", "--since", metavar="HASH", help="only the rows changed since then"),
                part("find", "--find", metavar="TEXT", help="print ROW,COL of each place of TEXT"),
                part("png", "--png", metavar="FILE", help="save a picture"),
                part("svg", "--svg", metavar="FILE", help="save a picture"),
                TOKENS,
            ),
            run=print_screen,
            examples=(
                "agent-pty screen work",
                "agent-pty screen work --format json",
                "agent-pty screen work --since 5f1c0a9be4d27a83 --json",
                "agent-pty screen work --png work.png",
            ),
        ),
    ),
)
CHANGES = Op(
    name="changes", answer="changes", request=WhatChanged, where="session", handler=changes
)
FIND = Op(name="find", answer="found", request=Find, where="session", handler=find)
RENDER = Op(name="render", answer="rendered", request=Render, where="session", handler=render)
