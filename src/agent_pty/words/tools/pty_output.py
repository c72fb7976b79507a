"""What a session wrote, in the size of an answer: whole, or its two ends and a file with all."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from agent_pty.core.excerpt import MOST_BYTES, Excerpt
from agent_pty.errors import BadRequest
from agent_pty.store.tombstone import ToolOutput
from agent_pty.words.tools.tool import ToolOps

_PAGE = 256 * 1024
_LARGEST_FILE = 64 * 1024 * 1024
_MOST_FOUND = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Text for a model, and where to read on; *ended* has state, exit_code and signal."""

    text: str
    cursor: int
    ended: dict[str, Any]


async def collected(
    asked: ToolOps, files: ToolOutput, name: str, *, since: int | None, tail: int | None, end: int
) -> Output:
    """Read from a cursor on, up to the cursor *end* and perhaps a little further."""
    excerpt, spool, notes, skipped = Excerpt(), Spool(files, name), "", 0
    last: dict[str, Any] = {}
    async for page in _pages(asked, name, since=since, tail=tail, end=end):
        if page["gap"]:
            notes += _gap(page["gap"])
        skipped += page.get("skipped", 0)
        excerpt.feed(page["text"])
        spool.feed(page["text"], start=since or 0, fits=excerpt.fits)
        last = page
    text = excerpt_text(excerpt, spool, name, start=since or 0, skipped=skipped)
    if since is not None and tail is not None:
        text = last_lines(text, tail)
    return Output(text=notes + text, cursor=last["cursor"], ended=last)


async def _pages(
    asked: ToolOps, name: str, *, since: int | None, tail: int | None, end: int
) -> AsyncIterator[dict[str, Any]]:
    """Yield what is wanted; of very much only the first half and the last half of a file."""
    fields: dict[str, Any] = {"since": since, "tail": tail, "max_bytes": _LARGEST_FILE}
    size = 0
    while True:
        page = await asked.ask("read", id=name, **fields)
        yield page
        here = page["cursor"]
        if not page["more"] or here >= end:
            return
        size += len(page["text"].encode())
        resume = end - _LARGEST_FILE // 2
        if size >= _LARGEST_FILE // 2 and here < resume:
            text = f"\n[... {resume - here} bytes left out of this file]\n"
            yield {**page, "text": text, "gap": None, "skipped": resume - here}
            here = resume
        fields = {"since": here, "max_bytes": _PAGE}


class Spool:
    """Writes a text to a file as soon as it is too long for an answer."""

    def __init__(self, files: ToolOutput, name: str) -> None:
        self._files = files
        self._name = name
        self._held: list[str] = []
        self.path: str | None = None

    def feed(self, text: str, *, start: int, fits: bool) -> None:
        """Take the next piece; while all of it *fits* nothing is written."""
        self._held.append(text)
        if fits:
            return
        if self.path is None:
            self.path = self._files.spool(self._name, start)
        with open(self.path, "a", encoding="utf-8", errors="replace") as file:
            file.writelines(self._held)
        self._held.clear()


def excerpt_text(excerpt: Excerpt, spool: Spool, name: str, *, start: int, skipped: int) -> str:
    """Return the text, or its ends and a note about what lies between."""
    ends = excerpt.ends()
    if ends.whole:
        return ends.head
    more = f" and {skipped} bytes more" if skipped else ""
    whole = "The two ends of it" if skipped else "All of it"
    note = (
        f"[... {ends.omitted_lines} lines, {ends.omitted_bytes} bytes{more} left out. {whole}: "
        f"{spool.path} (read or grep that file), or lines that match: pty_read "
        f'{{"id": "{name}", "since": {start}, "pattern": "..."}}]'
    )
    break_ = "" if ends.head.endswith("\n") or not ends.head else "\n"
    return f"{ends.head}{break_}{note}\n{ends.tail}"


def fitted(files: ToolOutput, name: str, text: str, *, start: int) -> str:
    """Return a text in the size of an answer; if it is longer, a file has all of it."""
    excerpt, spool = Excerpt(), Spool(files, name)
    excerpt.feed(text)
    spool.feed(text, start=start, fits=excerpt.fits)
    return excerpt_text(excerpt, spool, name, start=start, skipped=0)


def last_lines(text: str, count: int) -> str:
    """Return the last lines; an unfinished one counts."""
    kept = text.splitlines(keepends=True)
    return "".join(kept[-count:]) if count > 0 else ""


def _gap(gap: dict[str, int]) -> str:
    return f"[gap: {gap['end'] - gap['start']} bytes no longer retained]\n"


async def matching(
    asked: ToolOps, name: str, pattern: str, *, since: int | None, tail: int | None, end: int
) -> Output:
    """Return the lines that match, with their numbers and their count first."""
    note = ""
    try:
        return await _matching(asked, name, pattern, since=since, tail=tail, end=end)
    except BadRequest as error:
        note = f"[{pattern!r} is no regex, taken as text: {error}]\n"
    literal = re.sub(r"([^\w\s])", r"\\\1", pattern, flags=re.ASCII)
    found = await _matching(asked, name, literal, since=since, tail=tail, end=end)
    return Output(text=note + found.text, cursor=found.cursor, ended=found.ended)


async def _matching(
    asked: ToolOps, name: str, pattern: str, *, since: int | None, tail: int | None, end: int
) -> Output:
    lines, count, before, notes, size = list[str](), 0, 0, "", 0
    fields: dict[str, Any] = {"since": since, "tail": tail}
    while True:
        page = await asked.ask("read", id=name, grep=pattern, numbered=True, **fields)
        if page["gap"]:
            notes += _gap(page["gap"])
        numbers = page["numbers"]["matching"]
        for number, line in zip(numbers, page["text"].splitlines(), strict=False):
            count += 1
            size += len(line)
            if len(lines) < _MOST_FOUND and size < MOST_BYTES:
                lines.append(f"{before + number}: {line}")
        before += page["numbers"]["lines"]
        if not page["more"] or page["cursor"] >= end:
            break
        fields = {"since": page["cursor"]}
    shown = f", the first {len(lines)}" if len(lines) < count else ""
    head = f"[{count} matching lines of {before}{shown}]"
    return Output(text=notes + "\n".join([head, *lines]) + "\n", cursor=page["cursor"], ended=page)
