from __future__ import annotations

import asyncio

import pytest

from agent_pty.host.viewers.buffer import Buffer, Piece


def test_what_was_offered_is_taken_in_one() -> None:
    """
    A reader gets everything since its last look, then waits for more.
    """

    async def story() -> None:
        buffer = Buffer(limit=100)
        buffer.offer(b"one ")
        buffer.offer(b"two")

        assert await buffer.take() == Piece(data=b"one two")
        waiting = asyncio.get_running_loop().create_task(buffer.take())
        buffer.offer(b"three")
        assert await waiting == Piece(data=b"three")

    asyncio.run(story())


def test_too_much_is_told_instead_of_kept() -> None:
    """
    Past the bound nothing is kept; what comes after the reader was told is kept again.
    """

    async def story() -> None:
        buffer = Buffer(limit=10)
        buffer.offer(b"123456")
        buffer.offer(b"7890123")
        buffer.offer(b"lost too")

        assert await buffer.take() == Piece(overflowed=True)
        buffer.offer(b"fresh")
        assert await buffer.take() == Piece(data=b"fresh")

    asyncio.run(story())


def test_exactly_the_bound_is_kept() -> None:
    """
    The bound itself is no lag, one byte more is.
    """

    async def story() -> None:
        buffer = Buffer(limit=4)
        buffer.offer(b"1234")
        assert await buffer.take() == Piece(data=b"1234")
        buffer.offer(b"12345")
        assert await buffer.take() == Piece(overflowed=True)

    asyncio.run(story())


@pytest.mark.parametrize("last", [Piece(data=b"last"), Piece(overflowed=True)])
def test_the_end_comes_after_the_rest(last: Piece) -> None:
    """
    What was offered before the end is still read; the end is said as often as asked.
    """

    async def story() -> None:
        buffer = Buffer(limit=4)
        buffer.offer(b"last" if last.data else b"too long")
        buffer.end()

        assert await buffer.take() == last
        assert await buffer.take() == Piece(end=True)
        assert await buffer.take() == Piece(end=True)

    asyncio.run(story())


def test_nothing_offered_is_no_end() -> None:
    """
    Only the end is the end: an empty offer leaves the reader waiting.
    """

    async def story() -> None:
        buffer = Buffer(limit=4)
        buffer.offer(b"")
        waiting = asyncio.get_running_loop().create_task(buffer.take())
        await asyncio.wait([waiting], timeout=0)
        buffer.offer(b"x")

        assert await waiting == Piece(data=b"x")

    asyncio.run(story())
