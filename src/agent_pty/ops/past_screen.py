"""`screen_at`: the screen of a past moment, drawn again from the recording."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from agent_pty.core.command import Call
from agent_pty.ops.context import Registry
from agent_pty.ops.model import ScreenCursor
from agent_pty.ops.op import Op, Request

PastForm = Literal["text", "ansi", "html"]


class ScreenAt(Request, frozen=True, kw_only=True):
    """Return the screen of a session as it was at a past moment, also of one that is gone.

    It is drawn from the recording, which has no secrets: what is covered keeps its room.
    """

    id: Annotated[str, Meta(description="session, running or not")]
    at: Annotated[
        str, Meta(description="an event's number, a time (RFC 3339) or how long ago (`30s`)")
    ]
    instance: Annotated[
        str | None, Meta(description="an earlier one of that name; default: the newest")
    ] = None
    format: Annotated[PastForm, Meta(description="html and ansi come as `content`")] = "text"


class PastScreen(Struct, frozen=True, kw_only=True):
    """A screen of the past. *problem* says why it may not be what was seen; null: it is.

    *changed_at* is when something last happened on it.
    """

    id: str
    instance: str
    at: str
    changed_at: str
    rows: int
    cols: int
    text: str
    cursor: ScreenCursor
    title: str
    alternate_screen: bool
    segment: int
    problem: str | None
    format: PastForm
    content: str | None


async def screen_at(registry: Registry, request: ScreenAt) -> PastScreen:
    """Have a host draw it."""
    found: PastScreen = await registry.past_screen(request)
    return found


async def print_past_screen(call: Call, name: str, form: str) -> int:
    """Print a past screen; what may be wrong with it is said beside it."""
    wanted = form if form in ("ansi", "html") else "text"
    at, instance = call.options.at, call.options.instance
    found: dict[str, Any] = await call.ask(
        "screen_at", id=name, at=at, instance=instance, format=wanted
    )
    if form == "json":
        await call.show_json(found)
        return 0
    if found["problem"] is not None:
        await call.warn(f"screen: {found['problem']}")
    await call.print(found["text"] if wanted == "text" else found["content"])
    return 0


OP = Op(name="screen_at", answer="past_screen", request=ScreenAt, where="daemon", handler=screen_at)
