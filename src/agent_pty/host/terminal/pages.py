"""Pages of a transcript: from a cursor on, the last lines, or the lines that match."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from dataclasses import dataclass

from agent_pty.core.condition import Search
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.ops.model import Gap, Reading

_LONGEST_CHARACTER = 4
_CONTINUATION = 0x80


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Text, where to read on, and what is missing before it."""

    text: str
    cursor: int
    gap: Gap | None
    more: bool


def page(
    output: TerminalOutput, *, since: int | None, limit: int, whole_lines: bool = False
) -> Page:
    """Return up to *limit* bytes from a cursor on (None: from the oldest kept).

    With *whole_lines* a page that is not the last ends with a line, if it has one.
    """
    limit = max(limit, _LONGEST_CHARACTER)
    log, pending = output.log, output.transcript.pending
    asked = log.first if since is None else min(log.place(since), log.committed + len(pending))
    excerpt = log.read(asked, limit)
    gap = None
    if since is not None and excerpt.place > asked:
        gap = Gap(start=since, end=log.cursor(excerpt.place))
    data = excerpt.text
    if excerpt.place + len(data) >= log.committed and len(data) < limit:
        data += pending[max(0, excerpt.place - log.committed) :]
    data = whole_characters(data[:limit])
    end = log.committed + len(pending)
    if whole_lines and excerpt.place + len(data) < end and b"\n" in data:
        data = data[: data.rindex(b"\n") + 1]
    place = excerpt.place + len(data)
    more = place < end
    if place > log.committed:
        output.show()
    return Page(
        text=data.decode(errors="replace"), cursor=_cursor(output, place), gap=gap, more=more
    )


def tail(output: TerminalOutput, *, lines: int, limit: int) -> Page:
    """Return the last *lines* lines, the unfinished one included; a gap says if not all fit."""
    log = output.log
    end = log.committed + len(output.transcript.pending)
    start = max(log.first, end - limit)
    # A limit may fall within a character: begin with the next one.
    head = log.read(start, _LONGEST_CHARACTER).text if start < log.committed else b""
    start += next((n for n, byte in enumerate(head) if byte & 0xC0 != _CONTINUATION), 0)
    text = page(output, since=log.cursor(start), limit=limit).text
    found = _lines(text)
    gap = None
    if len(found) <= lines and start > log.first:
        gap = Gap(start=log.cursor(log.first), end=log.cursor(start))
    kept = found[-lines:] if lines else []
    return Page(text="".join(kept), cursor=_cursor(output, end), gap=gap, more=False)


def matching(found: Page, search: Search) -> Page:
    """Keep only the lines of a page that match."""
    # A pattern may match the empty string, which is a match.
    kept = [line for line in _lines(found.text) if search(line.rstrip("\n")) is not None]
    return Page(text="".join(kept), cursor=found.cursor, gap=found.gap, more=found.more)


def _lines(text: str) -> list[str]:
    """Cut after each line feed; `splitlines` would cut at U+2028 and others, too."""
    return list(io.StringIO(text, newline="\n"))


def _cursor(output: TerminalOutput, place: int) -> int:
    # Beyond the committed text the shift is that of the unfinished line.
    beyond = max(0, place - output.log.committed)
    return output.log.cursor(place - beyond) + beyond


def whole_characters(data: bytes) -> bytes:
    """Cut a half character off the end; the next page begins with it."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data)
    half = len(decoder.getstate()[0])
    return data[: len(data) - half]


class TranscriptReader:
    """The transcript of one terminal, page by page; *compiled* turns a pattern into a search."""

    def __init__(self, terminal: Terminal, compiled: Callable[[str], Search]) -> None:
        self._terminal = terminal
        self._compiled = compiled

    def read(
        self, *, since: int | None, tail: int | None, max_bytes: int, grep: str | None
    ) -> Reading:
        """Return one page, and how the program is."""
        output = self._terminal.output
        if tail is not None and since is None:
            found = _tail(output, lines=tail, limit=max_bytes)
        else:
            found = page(output, since=since, limit=max_bytes, whole_lines=grep is not None)
        if grep is not None:
            found = matching(found, self._compiled(grep))
        ending = self._terminal.ending
        return Reading(
            text=found.text,
            cursor=found.cursor,
            gap=found.gap,
            more=found.more,
            state=self._terminal.state,
            exit_code=ending.code,
            signal=ending.signal,
        )


_tail = tail  # the parameter of `read` has the same name, by contract
