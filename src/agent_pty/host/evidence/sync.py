"""Journals are synced together, off the loop, soon after something was written."""

from __future__ import annotations

import asyncio
import time

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
        """How long it took until the disk had the last event; None: it has not yet."""
        return None if self._lag is None else int(self._lag * 1000)

    async def wait(self, journal: Journal) -> bool:
        """Return whether the disk has everything that was written so far."""
        since = time.monotonic()
        done = await asyncio.to_thread(_synced, {journal})
        self._note(done=done, since=since)
        return done

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
                self._note(done=await asyncio.to_thread(_synced, journals), since=since)
        finally:
            self._task = None

    def _note(self, *, done: bool, since: float) -> None:
        self._lag = time.monotonic() - since if done else None


def _synced(journals: set[Journal]) -> bool:
    """Sync all of them, also after one has failed."""
    failed = [journal for journal in journals if not journal.sync()]
    return not failed
