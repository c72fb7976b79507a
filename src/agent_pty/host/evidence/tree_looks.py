"""Looks at git work trees for all sessions of a host: shared, and not too often.

A look takes some 20 ms of a core, more in a large tree, so two sessions in one tree share it, and
there is at most one every two seconds, but for the last one of a session. It never delays input:
whoever needs its result waits for it as long as they like.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent_pty.core.evidence.git_snapshot import GitSnapshot, Skipped
from agent_pty.process.git_snapshot import look
from agent_pty.process.git_work_tree import WorkTree, work_tree

BETWEEN_SECONDS = 2.0
_MOST_BYTES = 64 << 10

Found = GitSnapshot | Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a look found, and when it began."""

    began: float
    found: Found


class TreeLook:
    """The looks at one work tree."""

    def __init__(self, tree: WorkTree, scratch: str, clock: Callable[[], float]) -> None:
        self._tree = tree
        self._scratch = scratch
        self._clock = clock
        self._last: Look | None = None
        self._task: asyncio.Task[Look] | None = None
        self._urgent = asyncio.Event()

    @property
    def last(self) -> Look | None:
        """The newest look."""
        return self._last

    async def after(self, moment: float) -> Look:
        """Return a look that began after a moment; it may have to wait for its turn."""
        while self._last is None or self._last.began < moment:
            if self._task is None:
                self._task = asyncio.get_running_loop().create_task(self._look())
            await asyncio.shield(self._task)
        return self._last

    def hurry(self) -> None:
        """Let the next look begin at once: a session ends."""
        self._urgent.set()

    async def _look(self) -> Look:
        await self._turn()
        self._urgent.clear()
        began = self._clock()
        before = self._last.found if self._last is not None else None
        last = before if isinstance(before, GitSnapshot) else None
        try:
            found = await asyncio.to_thread(self._found, last)
            self._last = Look(began=began, found=found)
            return self._last
        finally:
            self._task = None

    async def _turn(self) -> None:
        """Return when the last look is long enough ago."""
        if self._last is not None:
            due = self._last.began + BETWEEN_SECONDS - self._clock()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, due)):
                    await self._urgent.wait()

    def _found(self, last: GitSnapshot | None) -> Found:
        os.makedirs(self._scratch, mode=0o700, exist_ok=True)
        return look(self._tree, scratch=self._scratch, last=last, most_bytes=_MOST_BYTES)


class TreeLooks:
    """Every work tree that sessions of this host are in, by its directory."""

    def __init__(self, scratch: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._scratch = scratch
        self._clock = clock
        self._trees: dict[WorkTree, TreeLook] = {}

    async def of(self, directory: str) -> TreeLook | Skipped | None:
        """Return the looks at the tree that a directory is in; None: it is in no repository.

        Asked each time: a repository may be made, or removed, while a session runs.
        """
        found = await asyncio.to_thread(work_tree, directory)
        if not isinstance(found, WorkTree):
            return found
        if found not in self._trees:
            self._trees[found] = TreeLook(found, self._scratch, self._clock)
        return self._trees[found]
