"""`screen`, `changes`, `find` and `render`: read the visible screen."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agent_pty.core.command import NAME, TOKENS, Command, part
from agent_pty.ops.context import Form, Session
from agent_pty.ops.model import Changes, Screen
from agent_pty.ops.op import Op, Request
from agent_pty.ops.screen_text import print_screen

_MOST_SCROLLBACK = 10_000
DEFAULT_PALETTE = "legible"
_PALETTES = "legible, xterm, vga, tango, solarized-dark, solarized-light, tomorrow-night"


class LookAt(Request, frozen=True, kw_only=True):
    """Read the visible screen of a session: text, cursor, modes, prompt, errors and URLs."""

    id: Annotated[str, Meta(description="session whose screen to read")]


class WhatChanged(Request, frozen=True, kw_only=True):
    """Read only the rows that changed since an earlier screen."""

    id: Annotated[str, Meta(description="session whose screen to read")]
    since: Annotated[str, Meta(description="`hash` of an earlier screen")]


class Find(Request, frozen=True, kw_only=True):
    """Find text on the screen and return its rows and columns, for example to click there."""

    id: Annotated[str, Meta(description="session whose screen to read")]
    text: Annotated[str, Meta(min_length=1, description="text to find")]


class Render(Request, frozen=True, kw_only=True):
    """Return the screen as text, ANSI, HTML, SVG or PNG."""

    id: Annotated[str, Meta(description="session whose screen to read")]
    format: Annotated[Form, Meta(description="form of the content; png as base64")] = "text"
    scrollback: Annotated[
        int, Meta(ge=0, le=_MOST_SCROLLBACK, description="rows above the screen to include")
    ] = 0
    palette: Annotated[str, Meta(description=f"colours of html, svg and png: {_PALETTES}")] = (
        DEFAULT_PALETTE
    )


class Found(Struct, frozen=True, kw_only=True):
    """One place, counted in cells from 0."""

    row: int
    col: int
    width: int


class Rendered(Struct, frozen=True, kw_only=True):
    """The screen in the requested form."""

    format: str
    content: str


async def screen(session: Session, _request: LookAt) -> Screen:
    """Return the screen as it is now."""
    return session.screen.read()


async def changes(session: Session, request: WhatChanged) -> Changes:
    """Compare with a screen that was returned before."""
    return session.screen.changes(request.since)


async def find(session: Session, request: Find) -> list[Found]:
    """Search the rows as they are displayed."""
    places = session.screen.find(request.text)
    return [Found(row=place.row, col=place.col, width=place.width) for place in places]


async def render(session: Session, request: Render) -> Rendered:
    """Render the screen in the requested form."""
    content = await session.screen.render(
        request.format, scrollback=request.scrollback, palette=request.palette
    )
    return Rendered(format=request.format, content=content)


SCREEN = Op(
    name="screen",
    tool="terminal.screen",
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
                    help="what to print (default: text)",
                ),
                part(
                    "scrollback",
                    "--scrollback",
                    type=int,
                    default=0,
                    metavar="N",
                    help="include N rows above the screen",
                ),
                part(
                    "since",
                    "--since",
                    metavar="HASH",
                    help="only rows that changed since this screen",
                ),
                part("find", "--find", metavar="TEXT", help="print ROW,COL of each TEXT found"),
                part(
                    "at",
                    "--at",
                    metavar="TIME|EVENT",
                    help="as it was: at an event's number, a time, or 30s ago",
                ),
                part(
                    "instance",
                    "--instance",
                    metavar="ID",
                    help="with --at: an earlier session of that name",
                ),
                part("png", "--png", metavar="FILE", help="save a PNG image"),
                part("svg", "--svg", metavar="FILE", help="save an SVG image"),
                part(
                    "palette",
                    "--palette",
                    metavar="NAME",
                    help=f"colours of a picture or of html: {_PALETTES} (default: the first)",
                ),
                TOKENS,
            ),
            run=print_screen,
            examples=(
                "agent-pty screen work",
                "agent-pty screen work --format json",
                "agent-pty screen work --since 5f1c0a9be4d27a83 --json",
                "agent-pty screen work --at 30s",
                "agent-pty screen work --at 12 --json",
                "agent-pty screen work --png work.png",
                "agent-pty screen work --svg work.svg --palette xterm",
            ),
        ),
    ),
)
CHANGES = Op(
    name="changes", answer="changes", request=WhatChanged, where="session", handler=changes
)
FIND = Op(name="find", answer="found", request=Find, where="session", handler=find)
RENDER = Op(name="render", answer="rendered", request=Render, where="session", handler=render)
