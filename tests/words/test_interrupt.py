"""Ctrl-C against work that may or may not want to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from agent_pty.words.interrupt import Interrupt


class Refused(Exception):
    """It cannot be stopped."""


async def next_turn() -> None:
    """Let everybody else have a turn of the loop."""
    turn = asyncio.Event()
    asyncio.get_running_loop().call_soon(turn.set)
    await turn.wait()


async def unneeded() -> None:
    """Fail if anybody stops what nobody wanted to be stopped."""
    pytest.fail("stopped without a reason")


def guarded(
    work: Callable[[Interrupt], Awaitable[str]], stop: Callable[[], Awaitable[None]]
) -> str:
    """Do work under a guard, and something else after it."""

    async def story() -> str:
        interrupt = Interrupt()
        try:
            return await interrupt.guard(work(interrupt), stop)
        finally:
            await next_turn()  # an unwanted cancellation would arrive here

    return asyncio.run(story())


def test_without_ctrl_c_the_work_is_simply_done() -> None:
    """
    It brings what it brings, and its error is its error.
    """

    async def work(_: Interrupt) -> str:
        await next_turn()
        return "done"

    async def broken(_: Interrupt) -> str:
        raise ValueError("broken")

    assert guarded(work, unneeded) == "done"
    with pytest.raises(ValueError, match="broken"):
        guarded(broken, unneeded)


@pytest.mark.parametrize("pressed", ["before", "during"])
def test_work_that_stops_tells_how_it_ended(pressed: str) -> None:
    """
    Pressed before or during the work, once or twice: it is stopped once, and its word counts.
    """
    stops: list[str] = []

    async def story() -> str:
        interrupt, stopped = Interrupt(), asyncio.Event()

        async def work() -> str:
            interrupt.set()
            interrupt.set()
            await stopped.wait()
            return "interrupted"

        async def stop() -> None:
            stops.append("stop")
            stopped.set()

        if pressed == "before":
            interrupt.set()
        return await interrupt.guard(work(), stop)

    assert asyncio.run(story()) == "interrupted"
    assert stops == ["stop"]


def test_work_that_cannot_be_stopped_is_left() -> None:
    """
    Its caller is told why; whatever it does next is not cancelled.
    """
    left: list[str] = []

    async def work(interrupt: Interrupt) -> str:
        interrupt.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            left.append("left")
            raise
        return "never"

    async def stop() -> None:
        raise Refused

    with pytest.raises(Refused):
        guarded(work, stop)
    assert left == ["left"]


def test_who_is_cancelled_from_outside_is_cancelled() -> None:
    """
    A caller that is gone is no Ctrl-C.
    """

    async def story() -> None:
        begun = asyncio.Event()

        async def work() -> None:
            begun.set()
            await asyncio.Event().wait()

        caller = asyncio.get_running_loop().create_task(Interrupt().guard(work(), unneeded))
        await begun.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller

    asyncio.run(story())


def test_ctrl_c_after_the_work_stops_nothing() -> None:
    """
    The guard goes with the work.
    """

    async def story() -> None:
        interrupt = Interrupt()

        async def work() -> None:
            return

        await interrupt.guard(work(), unneeded)
        interrupt.set()
        await next_turn()
        assert interrupt.is_set()

    asyncio.run(story())
