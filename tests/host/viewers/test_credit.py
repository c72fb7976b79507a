from __future__ import annotations

import asyncio
from collections.abc import Iterable

from agent_pty.host.viewers.credit import CREDIT, CreditedWriter


async def turn() -> None:
    """Let every task that can go on do so."""
    await asyncio.wait([asyncio.get_running_loop().create_task(_nothing())])


async def _nothing() -> None:
    """Do nothing."""


async def _write_all(outlet: CreditedWriter, chunks: Iterable[bytes]) -> None:
    for chunk in chunks:
        await outlet.write(chunk)


def test_a_reader_with_room_gets_everything() -> None:
    """
    Within the credit nothing waits.
    """

    async def story() -> list[bytes]:
        sent: list[bytes] = []
        await _write_all(CreditedWriter(sent.append), [b"one", b"", b"two"])
        return sent

    assert asyncio.run(story()) == [b"one", b"two"]


def test_without_credit_the_source_waits() -> None:
    """
    The chunk that uses up the credit is sent, the next is not even made before there is room.
    """

    async def story() -> None:
        sent: list[bytes] = []
        made: list[int] = []
        outlet = CreditedWriter(sent.append)

        def chunks() -> Iterable[bytes]:
            for number in range(3):
                made.append(number)
                yield b"x" * CREDIT

        writing = asyncio.get_running_loop().create_task(_write_all(outlet, chunks()))
        await turn()
        assert (len(sent), made) == (1, [0])

        outlet.grant(CREDIT)
        await turn()
        assert (len(sent), made) == (2, [0, 1])
        outlet.grant(2 * CREDIT)
        await writing
        assert sum(map(len, sent)) == 3 * CREDIT

    asyncio.run(story())


def test_a_chunk_larger_than_the_credit_is_owed() -> None:
    """
    Credit may go below nothing; only when all of it is read, and more, goes it on.
    """

    async def story() -> None:
        sent: list[bytes] = []
        outlet = CreditedWriter(sent.append)
        big = outlet.write(b"x" * (3 * CREDIT))
        writing = asyncio.get_running_loop().create_task(big)
        await turn()

        outlet.grant(2 * CREDIT)
        await turn()
        assert not writing.done()
        outlet.grant(1)
        await writing

    asyncio.run(story())
