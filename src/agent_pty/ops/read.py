"""`read`: the text that the program wrote."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
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
    max_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="at most this many bytes; an answer on the socket has at most 256 KiB, and "
            "its cursor leads to the rest",
        ),
    ] = LARGEST_PAGE
    grep: Annotated[str | None, Meta(description="only lines matching this RE2 pattern")] = None


async def read(session: Session, request: Read) -> Reading:
    """Return one page."""
    return session.transcript.read(
        since=request.since,
        tail=request.tail,
        max_bytes=request.max_bytes,
        grep=request.grep,
    )


async def _print_pages(call: Call, fields: Fields) -> int:
    """Print all pages, those of `--max-bytes`, or one with JSON or if only a part was requested."""
    most = fields["max_bytes"]
    part = most is None and (call.json or fields["tail"] is not None)
    pages = _first_page(call, fields) if part else _pages(call, fields, most)
    if call.json:
        await _print_object(call, pages)
        return 0
    async for page in pages:
        await _print_page(call, page)
    return 0


async def _first_page(call: Call, fields: Fields) -> AsyncIterator[dict[str, Any]]:
    yield await call.ask("read", **fields)


async def _pages(call: Call, fields: Fields, most: int | None) -> AsyncIterator[dict[str, Any]]:
    """Yield pages that have at most *most* bytes together; an answer is not larger than a page."""
    count = 0
    while True:
        room = None if most is None else most - count
        page = await call.ask("read", **{**fields, "max_bytes": room})
        count += len(page["text"].encode())
        # A character that does not fit is an answer only if it is the first.
        if most is not None and count > most and room != most:
            return
        yield page
        if not page["more"] or (most is not None and count >= most):
            return
        fields = {**fields, "since": page["cursor"], "tail": None}


async def _print_object(call: Call, pages: AsyncIterator[dict[str, Any]]) -> None:
    """Print pages as one object, while they come: together they may be large."""
    first = last = await anext(pages)
    await call.print('{\n  "text": "' + _quoted(first["text"]))
    async for page in pages:
        if page["gap"]:  # the cursor before it leads to an answer that reports it
            last = {**last, "more": True}
            break
        await call.print(_quoted(page["text"]))
        last = page
    facts = {**last, "gap": first["gap"]}
    del facts["text"]
    await call.print('",\n' + json.dumps(facts, indent=2, ensure_ascii=False)[2:] + "\n")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


async def _print_page(call: Call, page: dict[str, Any]) -> None:
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
