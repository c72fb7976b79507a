"""When the terminal is looked at."""

from __future__ import annotations

import asyncio

from agent_pty.host.cells.poller import Poller

SETTLED = 0.02
RAREST = 1.0


def test_it_looks_once_when_things_have_settled() -> None:
    """
    What happens before the look is due puts it off.
    """

    async def story() -> tuple[float, list[float]]:
        loop, looked, last = asyncio.get_running_loop(), asyncio.Event(), 0.0
        looks: list[float] = []

        def look() -> None:
            looks.append(loop.time())
            looked.set()

        def happen() -> None:
            nonlocal last
            last = loop.time()
            probe.soon()

        probe, begin = Poller(look), loop.time()
        happen()
        loop.call_at(begin + SETTLED / 2, happen)  # comes before the look, however slow we are
        await looked.wait()
        return last, looks

    last, looks = asyncio.run(story())

    assert len(looks) == 1
    assert looks[0] >= last + SETTLED


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time passes only when the test says so."""

    now = 0.0

    def time(self) -> float:
        """Return the time."""
        return self.now


def test_trial_13_a_program_that_draws_all_the_time_is_observed() -> None:
    """
    What happens again and again puts an observation off, but not for ever.
    """
    clock = Clock()
    looks: list[float] = []

    async def story() -> None:
        over = clock.create_future()
        probe = Poller(lambda: looks.append(clock.now))

        def happen() -> None:
            clock.now += SETTLED / 4
            probe.soon()
            if looks or clock.now > 10 * RAREST:
                over.set_result(None)
            else:
                clock.call_soon(happen)

        happen()
        await over
        probe.stop()

    with asyncio.Runner(loop_factory=lambda: clock) as runner:
        runner.run(story())

    assert len(looks) == 1
    assert looks[0] >= RAREST


def test_a_probe_that_was_stopped_does_not_look() -> None:
    """
    Not even by the timer of an earlier event.
    """

    async def story() -> list[str]:
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        looks: list[str] = []
        probe = Poller(lambda: looks.append("look"))
        probe.soon()
        probe.soon()
        probe.stop()
        loop.call_later(2 * SETTLED, over.set)
        await over.wait()
        return looks

    assert asyncio.run(story()) == []
