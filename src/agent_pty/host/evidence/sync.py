"""Journals are synced together, off the loop, soon after something was written."""

from __future__ import annotations

import asyncio
import time

from agent_pty import log
from agent_pty.store.journal import Journal

_WITHIN_SECONDS = 0.05


class Syncing:
    """Collects journals that were written to; one thread syncs them."""

    def __init__(self) -> None:
        self._dirty: set[Journal] = set()
        self._since = 0.0
        self._task: asyncio.Task[None] | None = None
        self._lag: float | None = None

    @property
    def lag_ms(self) -> int | None:
        """How long after it was written something was durable, the last time; None: never yet."""
        return None if self._lag is None else int(self._lag * 1000)

    async def wait(self, journal: Journal) -> None:
        """Return when the disk has everything that was written so far."""
        since = time.monotonic()
        await asyncio.to_thread(_synced, {journal})
        self._lag = time.monotonic() - since

    def wrote(self, journal: Journal) -> None:
        """Something was written: it is synced within a moment."""
        if not self._dirty:
            self._since = time.monotonic()
        self._dirty.add(journal)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._sync())

    async def _sync(self) -> None:
        try:
            while self._dirty:
                await asyncio.sleep(_WITHIN_SECONDS)
                journals, self._dirty = self._dirty, set()
                since = self._since
                await asyncio.to_thread(_synced, journals)
                self._lag = time.monotonic() - since
        finally:
            self._task = None


def _synced(journals: set[Journal]) -> None:
    for journal in journals:
        try:
            journal.sync()
        except OSError as error:
            if not journal.closed:  # meanwhile: then there is nothing to say
                log.line(f"{journal.path} is not synced: {error}")
