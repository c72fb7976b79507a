"""Names that one request has alone."""

from __future__ import annotations

from agent_pty.daemon.name_locks import NameLocks
from support.fake_host import begin, in_frozen_time, still_waits


async def hold(locks: NameLocks, *names: str) -> None:
    """Have some names for a moment."""
    async with locks.held(*names):
        pass


@in_frozen_time
async def test_a_name_is_held_by_one_at_a_time() -> None:
    """
    A second caller waits for a name that is held; another name is free.
    """
    locks = NameLocks()

    async with locks.held("a"):
        same, other = begin(hold(locks, "a")), begin(hold(locks, "b"))
        assert await still_waits(same)
        assert not await still_waits(other)

    assert not await still_waits(same)


@in_frozen_time
async def test_the_order_in_which_names_are_given_does_not_matter() -> None:
    """
    Callers that want the same names in opposite orders do not wait for each other forever.
    """
    locks = NameLocks()

    async with locks.held("b"):
        one = begin(hold(locks, "b", "a"))
        assert await still_waits(one)
        other = begin(hold(locks, "a", "b", "a"))
        assert await still_waits(other)

    assert not await still_waits(one)
    assert not await still_waits(other)
