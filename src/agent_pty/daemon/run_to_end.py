"""Work of several steps that is done to its end, whoever leaves in the middle of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from agent_pty import log

T = TypeVar("T")


class RunToEnd:
    """Holds what was begun; a caller that is cancelled leaves, the work goes on."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what *work* returns."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_tell)  # nobody else would hear of its failure
            raise

    async def finish(self, patience: float) -> None:
        """Return when nothing is being done any more, or after *patience* seconds."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience)


def _tell(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error(error)
