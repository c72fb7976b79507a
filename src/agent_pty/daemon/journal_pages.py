"""Pages of journals for `replay`, read one after the other in a thread of their own.

Several threads would take turns with each other, and the daemon's own would wait for all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from agent_pty.errors import UnknownSession
from agent_pty.ops.op import LARGEST_PAGE
from agent_pty.store import journal_files
from agent_pty.store.journal_reader import is_event, page

# An event as it is stored, which goes into the answer as it is; or a line that is none.
RecordedEvent = msgspec.Raw | Mapping[str, Any]


class JournalPages:
    """Reads the journals of a log directory, also of sessions that are gone."""

    def __init__(self, log_dir: str) -> None:
        self._log_dir = log_dir
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="replay")

    async def read(self, name: str, instance: str | None, *, after: int) -> Sequence[RecordedEvent]:
        """Return what fits into one answer of the events after number *after*."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._page, name, instance, after)

    def _page(self, name: str, instance: str | None, after: int) -> Sequence[RecordedEvent]:
        path = journal_files.find(self._log_dir, name, instance)
        if path is None:
            raise UnknownSession(name, instance)
        lines = page(path, after=after, most_bytes=LARGEST_PAGE)
        return [_recorded(line) for line in lines]


def _recorded(line: bytes) -> RecordedEvent:
    if is_event(line):
        return msgspec.Raw(line)
    return {"damaged": line.decode(errors="replace"), "sequence": None}
