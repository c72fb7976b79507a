"""Pages of a transcript: from a cursor on, the last lines, or the lines that match.

Rule of the file: whatever is asked for, a reader is given at most `LARGEST_PAGE` bytes at once,
and a cursor that leads to the rest.
"""

from __future__ import annotations

import codecs
import dataclasses
import io
from collections.abc import Callable
from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from agent_pty.core.condition import Search
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.ops.model import Gap, LineNumbers, Reading
from agent_pty.ops.op import LARGEST_PAGE

_LONGEST_CHARACTER = 4
_CONTINUATION = 0x80
_LINE_FEED = 0x0A


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Text, where to read on, and what is missing before it."""

    text: str
    begin: int  # cursor of the text
    cursor: int
    gap: Gap | None
    more: bool
    numbers: LineNumbers | UnsetType = UNSET


def page(
    output: TerminalOutput, *, since: int | None, limit: int, whole_lines: bool = False
) -> Page:
    """Return up to *limit* bytes from a cursor on (None: from the oldest kept), or one character.

    With *whole_lines* a page that is not the last ends with a line, if it has one.
    """
    log, pending = output.log, output.transcript.pending
    asked = log.first if since is None else min(log.place(since), log.committed + len(pending))
    excerpt = log.read(asked, max(limit, _LONGEST_CHARACTER))
    gap = None
    if since is not None and excerpt.place > asked:
        gap = Gap(start=since, end=log.cursor(excerpt.place))
    data = excerpt.text
    if excerpt.place + len(data) >= log.committed:
        data += pending[max(0, excerpt.place - log.committed) :]
    data = whole_characters(data[:limit]) or _first_character(data)
    end = log.committed + len(pending)
    if whole_lines and excerpt.place + len(data) < end and b"\n" in data:
        data = data[: data.rindex(b"\n") + 1]
    place = excerpt.place + len(data)
    more = place < end
    if place > log.committed:
        output.show()
    return Page(
        text=data.decode(errors="replace"),
        begin=_cursor(output, excerpt.place),
        cursor=_cursor(output, place),
        gap=gap,
        more=more,
    )


def tail(output: TerminalOutput, *, lines: int, limit: int) -> Page:
    """Return the last *lines* lines, the unfinished one included; a gap says if not all fit.

    If they have more bytes than a page, this is the first page of them.
    """
    begin, gap = _tail_begin(output, lines=lines, limit=limit)
    found = page(output, since=begin, limit=min(limit, LARGEST_PAGE))
    return dataclasses.replace(found, gap=gap)


def _tail_begin(output: TerminalOutput, *, lines: int, limit: int) -> tuple[int, Gap | None]:
    """Return the cursor of the last *lines* lines, and a gap if they have more than *limit*."""
    log = output.log
    end = log.committed + len(output.transcript.pending)
    if not lines:
        return _cursor(output, end), None
    oldest = _character_start(output, max(log.first, end - limit))
    start = _line_start(output, lines, oldest)
    if start is not None:
        return _cursor(output, start), None
    cut = oldest > log.first
    begin = _cursor(output, oldest)
    return begin, Gap(start=log.cursor(log.first), end=begin) if cut else None


def _character_start(output: TerminalOutput, place: int) -> int:
    """Return the first place from *place* on that is not within a character."""
    log, pending = output.log, output.transcript.pending
    head = log.read(place, _LONGEST_CHARACTER).text + pending[max(0, place - log.committed) :]
    starts = (n for n, byte in enumerate(head) if byte & 0xC0 != _CONTINUATION)
    return place + next(starts, len(head))


def _line_start(output: TerminalOutput, lines: int, oldest: int) -> int | None:
    """Return where the last *lines* lines begin; None if that is before *oldest*."""
    log = output.log
    ended = not output.transcript.pending and log.read(log.committed - 1, 1).text == b"\n"
    left = lines + ended  # line feeds between there and the end
    end = log.committed
    while end > oldest:
        begin = max(oldest, end - LARGEST_PAGE)
        block = log.read(begin, end - begin).text
        if block.count(b"\n") >= left:
            return begin + [n for n, byte in enumerate(block) if byte == _LINE_FEED][-left] + 1
        left -= block.count(b"\n")
        end = begin
    return None


def matching(found: Page, search: Search) -> Page:
    """Keep only the lines of a page that match."""
    # A pattern may match the empty string, which is a match.
    kept = [
        (number, line)
        for number, line in enumerate(_lines(found.text), 1)
        if search(line.rstrip("\n")) is not None
    ]
    numbers = LineNumbers(matching=[number for number, _ in kept], lines=found.text.count("\n"))
    return dataclasses.replace(found, text="".join(line for _, line in kept), numbers=numbers)


def search_page(output: TerminalOutput, search: Search, *, since: int | None, limit: int) -> Page:
    """Return the lines of one page that match, up to *limit* bytes of them."""
    searched = page(output, since=since, limit=LARGEST_PAGE, whole_lines=True)
    found = matching(searched, search)
    if len(found.text.encode()) <= limit:
        return found
    text, taken = _matching_within(searched.text, search, limit)
    part = page(output, since=since, limit=taken)
    return dataclasses.replace(part, text=text, numbers=matching(part, search).numbers)


def _matching_within(text: str, search: Search, limit: int) -> tuple[str, int]:
    """Return *limit* bytes of the lines that match, and how many bytes of *text* they end after."""
    kept, taken = b"", 0
    for line in _lines(text):
        data = line.encode()
        if search(line.rstrip("\n")) is not None:
            room = limit - len(kept)
            fits = whole_characters(data[:room]) or (b"" if kept else _first_character(data))
            kept += fits
            if len(fits) < len(data):
                return kept.decode(), taken + len(fits)
        taken += len(data)
    return kept.decode(), taken


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


def _first_character(data: bytes) -> bytes:
    """Return the first character: a page without any would lead nowhere."""
    heads = (whole_characters(data[:size]) for size in range(1, _LONGEST_CHARACTER + 1))
    return next((head for head in heads if head), b"")


class TranscriptReader:
    """The transcript of one terminal, page by page; *compiled* turns a pattern into a search."""

    def __init__(self, terminal: Terminal, compiled: Callable[[str], Search]) -> None:
        self._terminal = terminal
        self._compiled = compiled

    def read(
        self,
        *,
        since: int | None,
        tail: int | None,
        max_bytes: int,
        grep: str | None,
        numbered: bool = False,
    ) -> Reading:
        """Return one page, and how the program is."""
        output = self._terminal.output
        gap = None
        if tail is not None and since is None:
            most = max_bytes if grep is None else max(max_bytes, LARGEST_PAGE)
            since, gap = _tail_begin(output, lines=tail, limit=most)
        if grep is None:
            found = page(output, since=since, limit=min(max_bytes, LARGEST_PAGE))
        else:
            found = search_page(output, self._compiled(grep), since=since, limit=max_bytes)
        ending = self._terminal.ending
        return Reading(
            text=found.text,
            cursor=found.cursor,
            gap=gap or found.gap,
            more=found.more,
            state=self._terminal.state,
            exit_code=ending.code,
            signal=ending.signal,
            begin=found.begin,
            numbers=found.numbers if numbered else UNSET,
        )
