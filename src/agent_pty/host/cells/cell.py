"""One cell: what was typed, where its output is, how it ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from agent_pty.host.terminal.output import Marked
from agent_pty.host.terminal.pages import whole_characters
from agent_pty.host.terminal.tty import Modes
from agent_pty.ops.cell_model import Frame, OutputPage, Status
from agent_pty.store.textlog import TextLog

INLINE = 64 * 1024
_HALF = INLINE // 2
_CONTINUATION = 0x80


class Output(Struct, frozen=True, kw_only=True):
    """Where a cell's output is: a stretch of the transcript, then bytes of the line after it."""

    start: int
    end: int
    tail: bytes = b""

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return max(0, self.end - self.start) + len(self.tail)

    def read(self, log: TextLog, since: int, limit: int) -> OutputPage:
        """Return up to *limit* bytes from *since* on, cut between characters."""
        begin, data = self._bytes(log, since, limit)
        used = begin + len(data)
        whole = whole_characters(data) if used < self.size else data
        used -= len(data) - len(whole)
        return OutputPage(
            text=whole.decode(errors="replace"),
            next=used,
            more=used < self.size,
            lost=begin - since if since < self.size else 0,
        )

    def _bytes(self, log: TextLog, since: int, limit: int) -> tuple[int, bytes]:
        """Return bytes and where they begin: later than *since* if older text is gone."""
        begin = max(self.start + since, min(log.first, self.end))
        stretch = min(limit, self.end - begin)
        data = log.read(begin, stretch).text if stretch > 0 else b""
        behind = begin + len(data) - self.end  # where in the tail to go on
        if behind >= 0:
            data += self.tail[behind : behind + limit - len(data)]
        return begin - self.start, data

    def inline(self, log: TextLog) -> tuple[str, bool]:
        """Return all of it, or its beginning and end and that something is missing."""
        first, _ = self._bytes(log, 0, 0)
        if self.size - first <= INLINE:
            text = self.read(log, first, INLINE).text
            return (f"{_left_out(first)}{text}", True) if first else (text, False)
        head = self.read(log, first, _HALF)
        begin, data = self._bytes(log, self.size - _HALF, _HALF)
        # Begin with a whole character.
        half = next((n for n, byte in enumerate(data) if byte & 0xC0 != _CONTINUATION), 0)
        missing = begin + half - head.next + first
        tail = data[half:].decode(errors="replace")
        return f"{head.text}{_left_out(missing)}{tail}", True


def _left_out(count: int) -> str:
    return f"\n[... {count} bytes left out ...]\n"


class Begun(Struct, frozen=True, kw_only=True):
    """A fired cell that runs: enough for another host to see it end."""

    cell_id: str
    frame: str
    typed: int
    lines: list[str]
    echoed: bool
    line_mode: bool
    drawn: int
    number: int | None
    prompt: str
    began: float
    limit: float | None


class Result(Struct, frozen=True, kw_only=True):
    """How a cell ended."""

    cell_id: str
    status: Status
    output: Output = Output(start=0, end=0)
    frame: Frame | None
    exit_code: int | None = None
    error: str | None = None
    cwd: str | None = None
    duration_ms: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class Cell:
    """A cell that has, or had, the session; *turn* is set whenever something about it changes."""

    id: str
    fired: bool
    frame: str
    limit: float | None = None
    number: int | None = None  # the prompt that it was typed at
    typed: int = -1  # where the transcript was when the code was typed; -1: not yet
    lines: list[str] = field(default_factory=list)
    echoed: bool = True
    line_mode: bool = False  # the kernel edits the line, and echoes what is typed at once
    modes: Modes | None = None  # how the terminal was set before
    output_from: int | None = None  # the place of the mark that output begins
    drawn: int = 0  # how much was drawn all over the screen until then
    prompt: str = ""  # what stood on the line before the code
    reader: int | None = None  # who read it
    incomplete: bool = False  # the last mark was a continuation prompt
    nudged: bool = False
    began: float = field(default_factory=time.monotonic)
    waiting_for: Literal["input", "secret"] | None = None
    hint: str | None = None
    timed_out: bool = False
    told: int = 0
    left: bool = False  # whoever ran it was answered before it ended
    interrupted: bool = False
    result: Result | None = None
    turn: asyncio.Event = field(default_factory=asyncio.Event)

    def owns(self, marked: Marked) -> bool:
        """Whether a mark is of this cell, not one from before that is seen again after a crash."""
        number = marked.mark.number
        if number is None or self.number is None:
            return marked.place + len(marked.line) >= self.typed
        return number > self.number if marked.mark.kind == "D" else number >= self.number

    async def until(self, done: Callable[[], bool]) -> None:
        """Return once *done*; the caller bounds the time."""
        while not done():
            self.turn.clear()
            await self.turn.wait()

    @property
    def settled(self) -> bool:
        """Whether there is something to tell: it ended, or waits for a person."""
        return self.result is not None or self.waiting_for is not None

    @property
    def status(self) -> Status:
        """What a poll says."""
        if self.result is not None:
            return self.result.status
        if self.timed_out:
            return Status.TIMEOUT
        return Status.WAITING if self.waiting_for is not None else Status.RUNNING
