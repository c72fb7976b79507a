"""Work that a session's cells start and nobody waits for; a refusal of it is no news."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Any

from agent_pty.errors import AgentPtyError


class Background:
    """Holds the tasks until they end."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def soon(self, work: Awaitable[Any]) -> None:
        """Begin with *work*; the session may end before it does."""

        async def quietly() -> None:
            with contextlib.suppress(AgentPtyError):
                await work

        task = asyncio.get_running_loop().create_task(quietly())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """End what is left."""
        for task in self._tasks:
            task.cancel()
