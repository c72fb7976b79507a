"""`pattern`: the lines of a session that match, with their numbers and their count first."""

from __future__ import annotations

import re
from typing import Any

from agent_pty.core.excerpt import MOST_BYTES
from agent_pty.core.pattern import compiled
from agent_pty.errors import BadRequest
from agent_pty.words.tools.pty_output import Output, gap_note, later
from agent_pty.words.tools.tool import ToolOps

_MOST_FOUND = 1000
_LONGEST_LINE = 2000
# The count and the notes need room, too.
_MOST_BYTES = MOST_BYTES - 1000


class Found:
    """The first of the lines that match, in the size of an answer, and how many there are."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._count = 0
        self._size = 0

    def add(self, number: int, line: str) -> None:
        """Take the next line."""
        self._count += 1
        more = len(line) - _LONGEST_LINE
        shown = f"{line[:_LONGEST_LINE]} [... {more} characters more]" if more > 0 else line
        shown = f"{number}: {shown}"
        self._size += len(shown.encode()) + 1
        if len(self._lines) < _MOST_FOUND and self._size < _MOST_BYTES:
            self._lines.append(shown)

    def text(self, searched: int) -> str:
        """Return the lines; *searched* is the number of all of them."""
        shown = f", the first {len(self._lines)}" if len(self._lines) < self._count else ""
        head = f"[{self._count} matching lines of {searched}{shown}]"
        return "\n".join([head, *self._lines]) + "\n"


async def matching(
    asked: ToolOps, name: str, pattern: str, *, since: int | None, tail: int | None, end: int
) -> Output:
    """Return the lines that match; what is no regular expression is searched as text."""
    note, pattern = _checked(pattern)
    if since is not None and tail is not None:
        since, tail = await later(asked, name, since, tail), None
    found, before, gaps = Found(), 0, ""
    fields: dict[str, Any] = {"since": since, "tail": tail}
    while True:
        page = await asked.ask("read", id=name, grep=pattern, numbered=True, **fields)
        gaps += gap_note(page["gap"]) if page["gap"] else ""
        numbers = page["numbers"]["matching"]
        for number, line in zip(numbers, page["text"].split("\n"), strict=False):
            found.add(before + number, line)
        before += page["numbers"]["lines"]
        if not page["more"] or page["cursor"] >= end:
            break
        fields = {"since": page["cursor"]}
    return Output(text=note + gaps + found.text(before), cursor=page["cursor"], ended=page)


def matching_text(text: str, pattern: str) -> str:
    """Return the lines of a text that match."""
    note, pattern = _checked(pattern)
    search, found = compiled(pattern), Found()
    lines = text.removesuffix("\n").split("\n") if text else []
    for number, line in enumerate(lines, 1):
        if search(line) is not None:
            found.add(number, line)
    return note + found.text(len(lines))


def _checked(pattern: str) -> tuple[str, str]:
    """Return a note if a pattern is none, and the pattern that is searched for."""
    try:
        compiled(pattern)
    except BadRequest as error:
        literal = re.sub(r"([^\w\s])", r"\\\1", pattern, flags=re.ASCII)
        return f"[{pattern!r} is no regex, taken as text: {error}]\n", literal
    return "", pattern
