"""`read`: the text that the program wrote."""

from __future__ import annotations

import json
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from msgspec import Meta

from agent_pty.core.budget import Ends, Fitted
from agent_pty.core.command import NAME, TOKENS, Call, Command, Fields, text_room
from agent_pty.core.short_json import LEFT_OUT
from agent_pty.ops.context import Session
from agent_pty.ops.model import Reading
from agent_pty.ops.op import LARGEST_PAGE, Cursor, Op, Request

_LARGEST_NUMBER = 10**10
# What an object has beside its text.
_FACTS = 120


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
    numbered: Annotated[
        bool, Meta(description="with grep: also the numbers of these lines, counted from `since`")
    ] = False


async def read(session: Session, request: Read) -> Reading:
    """Return one page."""
    return session.transcript.read(
        since=request.since,
        tail=request.tail,
        max_bytes=request.max_bytes,
        grep=request.grep,
        numbered=request.numbered,
    )


async def _print_pages(call: Call, fields: Fields) -> int:
    """Print all pages, those of `--max-bytes`, or one with JSON or if only a part was requested."""
    most, room = fields["max_bytes"], text_room(call)
    part = room is None and most is None and (call.json or fields["tail"] is not None)
    pages = _first_page(call, fields) if part else _pages(call, fields, most)
    if room is not None:
        await _print_fitted(call, fields, pages, room)
    elif call.json:
        await _print_object(call, pages)
    else:
        async for page in pages:
            await _report_gap(call, page)
            await call.print(page["text"])
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


async def _print_fitted(
    call: Call, fields: Fields, pages: AsyncIterator[dict[str, Any]], room: int
) -> None:
    """Print all pages as one text that has at most *room* bytes, or as an object that has."""
    room = max(room - _FACTS, room // 2) if call.json else room
    page, short = await fitted_pages(call.ask, fields, pages, room)
    if call.json:
        left_out = {} if short.left_out is None else {LEFT_OUT: short.left_out}
        rest = {"rest": short.rest} if short.rest else {}
        await call.show_json({**page, "text": short.text, **left_out, **rest})
        return
    await _report_gap(call, page)
    await call.print(short.text)
    if short.rest:
        await call.warn(short.rest)


async def fitted_pages(
    ask: Callable[..., Awaitable[Any]],
    fields: Fields,
    pages: AsyncIterator[dict[str, Any]],
    room: int,
) -> tuple[dict[str, Any], Fitted]:
    """Return the last of *pages* with the gap before the first, and their text in *room* bytes.

    *fields* is the request for the first page. The text names the command that reads what it
    leaves out; if there is no space for that, `rest` does.
    """
    ends, first = Ends(room), await anext(pages)
    last = first
    ends.feed(first["text"])
    async for page in pages:
        ends.feed(page["text"])
        last = page
    begin = first.get("begin") or 0  # a host of an earlier build does not tell
    last = {**last, "gap": first["gap"], "begin": begin}
    if (text := ends.text) is not None:
        return last, Fitted(text=text)
    command = f"agent-pty read {fields['id']}"
    if fields.get("grep") is not None:
        command += f" --grep {shlex.quote(fields['grep'])}"
    cut = ends.cut(rest=len(_rest(command, _LARGEST_NUMBER, _LARGEST_NUMBER)))
    if cut.beginning:
        # Only a read that ends where the gap begins knows the cursor of that place.
        size = len(cut.beginning.encode())
        asked = {**fields, "since": begin, "tail": None, "max_bytes": size}
        begin = (await ask("read", **asked))["cursor"]
    return last, cut.fitted(_rest(command, begin, cut.missing))


def _rest(command: str, since: int, size: int) -> str:
    return f"{command} --since {since} --max-bytes {size}"


async def _print_object(call: Call, pages: AsyncIterator[dict[str, Any]]) -> None:
    """Print pages as one object, while they come: together they may be large."""
    first = last = await anext(pages)
    await call.print('{"text":"' + _quoted(first["text"]))
    async for page in pages:
        if page["gap"]:  # the cursor before it leads to an answer that reports it
            last = {**last, "more": True}
            break
        await call.print(_quoted(page["text"]))
        last = page
    facts = {**last, "gap": first["gap"], "begin": first.get("begin")}
    del facts["text"]
    await call.print('",' + call.encoded(facts)[1:])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


async def _report_gap(call: Call, page: dict[str, Any]) -> None:
    if page["gap"]:
        start, end = page["gap"]["start"], page["gap"]["end"]
        await call.warn(f"gap: text from cursor {start} to {end} is no longer kept")


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
            hidden=frozenset({"numbered"}),
            examples=(
                "agent-pty read work --tail 20",
                "agent-pty read work --since 4096 --json",
            ),
        ),
    ),
)
