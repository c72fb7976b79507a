"""Wait in an event loop until the screen of a session is as expected."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agent_pty.api.expectation import EVENTS, Expectation, mismatch
from agent_pty.ops.model import Screen, State

if TYPE_CHECKING:
    from agent_pty.api.async_session import AsyncSession
    from agent_pty.api.async_watching import AsyncWatching


async def expect_screen(
    session: AsyncSession, expectation: Expectation, *, seconds: float
) -> Screen:
    """Look at the screen after every output until it is as expected."""
    __tracebackhide__ = True  # pytest shows the caller's line
    deadline = asyncio.get_running_loop().time() + seconds
    # Watched before the first look, so that no output can come between the two unseen.
    async with await session.watch(events=EVENTS) as events:
        while True:
            screen = await session.screen()
            faults = expectation.faults(screen.text)
            if not faults:
                return screen
            if screen.state != State.RUNNING or not await _changed(events, deadline):
                raise mismatch(session.id, screen, faults, seconds=seconds)


async def _changed(events: AsyncWatching, deadline: float) -> bool:
    try:
        async with asyncio.timeout_at(deadline):
            await anext(events)
    except TimeoutError:
        return False
    return True
