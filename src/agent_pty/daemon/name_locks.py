"""A lock for each name, so that two requests never work on one name at the same time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from weakref import WeakValueDictionary


class NameLocks:
    """Locks by name; one that nobody holds or waits for is forgotten."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def held(self, *names: str) -> AsyncIterator[None]:
        """Have some names alone; wait until nobody else has any of them.

        Ask for all names at once: who has one and asks for another can wait forever.
        """
        async with contextlib.AsyncExitStack() as stack:
            # Every caller takes them in the same order. So no two wait for each other.
            for name in sorted(set(names)):
                await stack.enter_async_context(self._locks.setdefault(name, asyncio.Lock()))
            yield
