"""`read`: the text that the program wrote."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from agent_pty.core.command import NAME, TOKENS, Call, Command, Fields, fitted_text
from agent_pty.ops.context import Session
from agent_pty.ops.model import Reading
from agent_pty.ops.op import LARGEST_PAGE, Cursor, Op, Request


class Read(Request, frozen=True, kw_only=True):
    """Read the transcript: the exact output without escape sequences, from a cursor on."""

    id: Annotated[str, Meta(description="session to read")]
    since: Annotated[Cursor | None, Meta(description="cursor of an earlier answer")] = None
    tail: Annotated[Cursor | None, Meta(description="only the last N lines")] = None
    max_bytes: Annotated[int, Meta(ge=1, description="at most this many bytes")] = LARGEST_PAGE
    grep: Annotated[str | None, Meta(description="only lines matching this RE2 pattern")] = None


async def read(session: Session, request: Read) -> Reading:
    """Return one page."""
    return session.transcript.read(
        since=request.since,
        tail=request.tail,
        max_bytes=min(request.max_bytes, LARGEST_PAGE),
        grep=request.grep,
    )


async def _print_pages(call: Call, fields: Fields) -> int:
    """Print all pages, or only one with JSON or if only a part was requested."""
    one_page = call.json or fields["tail"] is not None or fields["max_bytes"] is not None
    while True:
        page = await call.ask("read", **fields)
        await _print_page(call, page)
        fields = {**fields, "since": page["cursor"]}
        if one_page or not page["more"]:
            return 0


async def _print_page(call: Call, page: dict[str, Any]) -> None:
    if call.json:
        await call.show_json(page)
        return
    if page["gap"]:
        start, end = page["gap"]["start"], page["gap"]["end"]
        await call.warn(f"gap: text from cursor {start} to {end} is no longer kept")
    rest = f"agent-pty read {call.options.name} --since CURSOR"
    await call.print(fitted_text(call, page["text"], rest=rest))


OP = Op(
    name="read",
    answer="reading",
    request=Read,
    where="session",
    handler=read,
    commands=(
        Command(
            parts=(NAME, TOKENS),
            run=_print_pages,
            examples=(
                "agent-pty read work --tail 20",
                "agent-pty read work --since 4096 --json",
            ),
        ),
    ),
)
