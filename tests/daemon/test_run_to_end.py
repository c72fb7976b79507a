"""What was begun is finished, whoever leaves."""

from __future__ import annotations

import asyncio

import pytest

from agent_pty.daemon.run_to_end import RunToEnd


def test_the_answer_is_that_of_the_work() -> None:
    """
    Who stays gets what the work returned, or its error.
    """

    async def seven() -> int:
        return 7

    async def broken() -> int:
        raise ValueError("no")

    async def ask() -> int:
        with pytest.raises(ValueError, match="no"):
            await RunToEnd().do(broken())
        return await RunToEnd().do(seven())

    assert asyncio.run(ask()) == 7


def test_who_leaves_does_not_stop_the_work() -> None:
    """
    A cancelled caller is gone at once; the second step is still done.
    """
    steps: list[str] = []

    async def work(begun: asyncio.Event, gate: asyncio.Event, done: asyncio.Event) -> None:
        steps.append("first")
        begun.set()
        await gate.wait()
        steps.append("second")
        done.set()

    async def leave() -> None:
        begun, gate, done = asyncio.Event(), asyncio.Event(), asyncio.Event()
        whole = RunToEnd()
        caller = asyncio.get_running_loop().create_task(whole.do(work(begun, gate, done)))
        await begun.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert steps == ["first"]
        gate.set()
        await done.wait()

    asyncio.run(leave())

    assert steps == ["first", "second"]


def test_a_failure_that_nobody_awaits_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    """
    The log hears of it.
    """

    async def work(begun: asyncio.Event, gate: asyncio.Event) -> None:
        begun.set()
        await gate.wait()
        raise ValueError("too late")

    async def leave() -> None:
        begun, gate = asyncio.Event(), asyncio.Event()
        caller = asyncio.get_running_loop().create_task(RunToEnd().do(work(begun, gate)))
        await begun.wait()
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        gate.set()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    asyncio.run(leave())

    assert "ValueError: too late" in capfd.readouterr().err
