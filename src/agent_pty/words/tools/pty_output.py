"""What a session wrote, in the size of an answer: whole, or its two ends and a file with all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from agent_pty.core.excerpt import Ends, Excerpt
from agent_pty.store.tombstone import ToolOutput
from agent_pty.words.tools.tool import ToolOps

_PAGE = 256 * 1024
_LARGEST_FILE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Text for a model, and where to read on; *ended* has state, exit_code and signal."""

    text: str
    cursor: int
    ended: dict[str, Any]


async def collected(
    asked: ToolOps,
    files: ToolOutput,
    name: str,
    *,
    since: int | None,
    tail: int | None,
    end: int,
    echo: str = "",
) -> Output:
    """Read from a cursor on, up to the cursor *end* and perhaps a little further.

    *echo* is left out if the text begins with exactly that.
    """
    if since is not None and tail is not None:
        since, tail, echo = await later(asked, name, since, tail), None, ""
    excerpt, spool, places = Excerpt(), Spool(files, name), Places(asked, name)
    notes, skipped, dropped = "", 0, 0
    last: dict[str, Any] = {}
    async for page in _pages(asked, name, since=since, tail=tail, end=end):
        notes += gap_note(page["gap"]) if page["gap"] else ""
        if "skipped" in page:
            skipped += page["skipped"]
        else:
            shown = page["text"] if last else page["text"].removeprefix(echo)
            dropped += len(page["text"].encode()) - len(shown.encode())
            excerpt.feed(shown)
            places.note(excerpt.size + dropped, page)
        spool.feed(page["text"], start=since or 0, fits=excerpt.fits)
        last = page
    ends = excerpt.ends()
    if ends.whole:
        return Output(text=notes + ends.head, cursor=last["cursor"], ended=last)
    omission = Omission(
        name=name,
        start=await places.cursor(ends.omitted_from + dropped),
        end=await places.cursor(ends.omitted_to + dropped),
        skipped=skipped,
    )
    text = with_omission(ends, spool, omission)
    return Output(text=notes + text, cursor=last["cursor"], ended=last)


async def later(asked: ToolOps, name: str, since: int, tail: int) -> int:
    """Return the later one of a cursor and of where the last lines begin."""
    page = await asked.ask("read", id=name, tail=tail, max_bytes=_LARGEST_FILE)
    return max(since, int(page["begin"]))


class Places:
    """Where the pages of a text begin and end, by which the cursor of any place is found.

    Within a page cursors need not grow like bytes: a line that was rewritten has later ones.
    """

    def __init__(self, asked: ToolOps, name: str) -> None:
        self._asked = asked
        self._name = name
        self._known: list[tuple[int, int]] = []  # bytes before it, its cursor

    def note(self, size: int, page: dict[str, Any]) -> None:
        """Note a page after which the text has *size* bytes."""
        before = size - len(page["text"].encode())
        self._known += [(before, page["begin"]), (size, page["cursor"])]

    async def cursor(self, place: int) -> int:
        """Return the cursor of the text after *place* bytes."""
        before, cursor = max((one for one in self._known if one[0] <= place), default=(0, 0))
        if before == place:
            return cursor
        page = await self._asked.ask("read", id=self._name, since=cursor, max_bytes=place - before)
        return int(page["cursor"])


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """Which text of session *name* was left out; *skipped* bytes of it are in no file either."""

    name: str
    start: int  # a cursor
    end: int
    skipped: int = 0


def with_omission(ends: Ends, spool: Spool, omission: Omission) -> str:
    """Return both ends of a text, with a note between them where the rest is."""
    more = f" and {omission.skipped} bytes more" if omission.skipped else ""
    whole = "The two ends of it" if omission.skipped else "All of it"
    note = (
        f"[... {ends.omitted_lines} lines, {ends.omitted_bytes} bytes{more} left out. {whole}: "
        f"{spool.path} (read or grep that file). Left out is cursor {omission.start} to "
        f'{omission.end}: pty_read {{"id": "{omission.name}", "since": {omission.start}}}, with '
        f'"pattern": "..." only lines that match]'
    )
    break_ = "" if ends.head.endswith("\n") or not ends.head else "\n"
    return f"{ends.head}{break_}{note}\n{ends.tail}"


def fitted(files: ToolOutput, name: str, text: str, *, end: int) -> str:
    """Return a text that ends at cursor *end*; if it is too long, a file has all of it."""
    excerpt, spool = Excerpt(), Spool(files, name)
    excerpt.feed(text)
    begin = end - excerpt.size
    spool.feed(text, start=begin, fits=excerpt.fits)
    ends = excerpt.ends()
    if ends.whole:
        return ends.head
    start, stop = begin + ends.omitted_from, begin + ends.omitted_to
    return with_omission(ends, spool, Omission(name=name, start=start, end=stop))


def last_lines(text: str, count: int) -> str:
    """Return the last lines; an unfinished one counts."""
    kept = text.splitlines(keepends=True)
    return "".join(kept[-count:]) if count > 0 else ""


def gap_note(gap: dict[str, int]) -> str:
    """Say how much text is gone."""
    return f"[gap: {gap['end'] - gap['start']} bytes no longer retained]\n"
