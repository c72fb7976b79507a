from __future__ import annotations

import asyncio

import pytest

from agent_pty.host.viewers.buffer import Piece, Tap


def test_what_was_offered_is_taken_in_one() -> None:
    """
    A reader gets everything since its last look, then waits for more.
    """

    async def story() -> None:
        tap = Tap(limit=100)
        tap.offer(b"one ")
        tap.offer(b"two")

        assert await tap.take() == Piece(data=b"one two")
        waiting = asyncio.get_running_loop().create_task(tap.take())
        tap.offer(b"three")
        assert await waiting == Piece(data=b"three")

    asyncio.run(story())


def test_too_much_is_told_instead_of_kept() -> None:
    """
    Past the bound nothing is kept; what comes after the reader was told is kept again.
    """

    async def story() -> None:
        tap = Tap(limit=10)
        tap.offer(b"123456")
        tap.offer(b"7890123")
        tap.offer(b"lost too")

        assert await tap.take() == Piece(lagged=True)
        tap.offer(b"fresh")
        assert await tap.take() == Piece(data=b"fresh")

    asyncio.run(story())


def test_exactly_the_bound_is_kept() -> None:
    """
    The bound itself is no lag, one byte more is.
    """

    async def story() -> None:
        tap = Tap(limit=4)
        tap.offer(b"1234")
        assert await tap.take() == Piece(data=b"1234")
        tap.offer(b"12345")
        assert await tap.take() == Piece(lagged=True)

    asyncio.run(story())


@pytest.mark.parametrize("last", [Piece(data=b"last"), Piece(lagged=True)])
def test_the_end_comes_after_the_rest(last: Piece) -> None:
    """
    What was offered before the end is still read; the end is said as often as asked.
    """

    async def story() -> None:
        tap = Tap(limit=4)
        tap.offer(b"last" if last.data else b"too long")
        tap.end()

        assert await tap.take() == last
        assert await tap.take() == Piece(end=True)
        assert await tap.take() == Piece(end=True)

    asyncio.run(story())


def test_nothing_offered_is_no_end() -> None:
    """
    Only the end is the end: an empty offer leaves the reader waiting.
    """

    async def story() -> None:
        tap = Tap(limit=4)
        tap.offer(b"")
        waiting = asyncio.get_running_loop().create_task(tap.take())
        await asyncio.wait([waiting], timeout=0)
        tap.offer(b"x")

        assert await waiting == Piece(data=b"x")

    asyncio.run(story())
