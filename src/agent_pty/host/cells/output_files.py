"""Files with whole outputs of cells, for answers that show only a part; the oldest goes first."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import OrderedDict
from dataclasses import dataclass

from agent_pty.host.cells.output_range import OutputRange
from agent_pty.store.atomic import write_all
from agent_pty.store.textlog import TextLog

_PAGE = 1024 * 1024
_MOST_FILES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copied:
    """How much of an output is in its file: finished lines only, because they do not change."""

    start: int = -1  # of the output in the transcript
    place: int = 0  # in the output
    size: int = 0  # of the file


class OutputFiles:
    """Writes outputs to files in *directory* that any tool can read."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._copied: OrderedDict[str, _Copied] = OrderedDict()

    def path(self, cell_id: str) -> str:
        """Return the path of the file that has, or will have, the output of a cell."""
        return f"{self._directory}/{cell_id}.txt"

    async def save(self, cell_id: str, output: OutputRange, log: TextLog) -> str | None:
        """Write an output, of a running cell what is new; return the path, None if disk is full."""
        path, known = self.path(cell_id), self._copied.pop(cell_id, _Copied())
        try:
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            self._copied[cell_id] = await _copied(output, log, path, known)
        except OSError:  # the output is still there, by pages
            with contextlib.suppress(OSError):
                os.unlink(path)
            return None
        while len(self._copied) > _MOST_FILES:
            oldest, _ = self._copied.popitem(last=False)
            with contextlib.suppress(OSError):
                os.unlink(self.path(oldest))
        return path


async def _copied(output: OutputRange, log: TextLog, path: str, known: _Copied) -> _Copied:
    """Append what the file does not have yet; an output that begins elsewhere is written anew."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    file = os.open(path, flags, 0o600)
    try:
        if known.start != output.start or os.fstat(file).st_size < known.size:
            known = _Copied(start=output.start)
        os.ftruncate(file, known.size)  # without the unfinished line of the time before
        os.lseek(file, known.size, os.SEEK_SET)
        finished = OutputRange(start=output.start, end=output.end)
        size, place = known.size, known.place
        while place < finished.size:
            page = finished.read(log, place, _PAGE)
            data = page.text.encode()
            write_all(file, data)
            size, place = size + len(data), page.next
            await asyncio.sleep(0)  # others get their turn
        write_all(file, output.tail)
    finally:
        os.close(file)
    return _Copied(start=output.start, place=place, size=size)
