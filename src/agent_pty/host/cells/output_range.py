"""Where a cell's output is, and how to read it."""

from __future__ import annotations

from msgspec import Struct, structs

from agent_pty.host.terminal.pages import whole_characters
from agent_pty.ops.cell_model import OutputPage
from agent_pty.store.textlog import TextLog

INLINE = 64 * 1024
_HALF = INLINE // 2
_CONTINUATION = 0x80


class OutputRange(Struct, frozen=True, kw_only=True):
    """A stretch of the transcript, then bytes of the line after it."""

    start: int
    end: int
    tail: bytes = b""

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return max(0, self.end - self.start) + len(self.tail)

    def after(self, count: int) -> OutputRange:
        """Return what follows its first *count* bytes."""
        stretch = max(0, self.end - self.start)
        if count <= stretch:
            return structs.replace(self, start=self.start + count)
        return OutputRange(start=self.end, end=self.end, tail=self.tail[count - stretch :])

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

    def lost(self, log: TextLog) -> int:
        """Return how many bytes at its beginning are no longer kept, or never could be."""
        return self._bytes(log, 0, 0)[0]

    def tail_text(self, log: TextLog, characters: int) -> str:
        """Return the last characters, as many as are kept."""
        _, data = self._bytes(log, max(0, self.size - 4 * characters), 4 * characters)
        return data.decode(errors="replace")[-characters:]

    def inline(self, log: TextLog) -> tuple[str, bool]:
        """Return all of it, or its beginning and end and that something is missing."""
        first = self.lost(log)
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
