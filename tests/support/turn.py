"""Let an event loop work, without a clock."""

from __future__ import annotations

import asyncio


async def turns(count: int = 1) -> None:
    """Return after so many turns of the loop: tasks that were made before have begun.

    A round trip through another thread does not ensure that: from Python 3.14 on it can be over
    before the loop has had a turn.
    """
    loop = asyncio.get_running_loop()
    for _ in range(count):
        passed = asyncio.Event()
        loop.call_soon(passed.set)
        await passed.wait()
