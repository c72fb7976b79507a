from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from agent_pty.daemon.bus import Bus
from agent_pty.host.message import PastEvents


class Station:
    """A bus and a record of when anybody watched."""

    def __init__(self) -> None:
        self.watched: list[bool] = []
        self.bus = Bus(self._on_watched)

    async def _on_watched(self, on: bool) -> None:  # noqa: FBT001  the bus's own callback
        self.watched.append(on)

    async def join(
        self, name: str | None = None, kinds: Sequence[str] | None = None
    ) -> AsyncIterator[bytes]:
        """Begin to watch; a first event proves it."""
        lines = await self.bus.watch(name, kinds)
        first = asyncio.get_running_loop().create_task(following(lines))
        await asyncio.wait([first], timeout=0)
        self.bus.publish((kinds or ["hello"])[0], name or "anybody")
        await first
        return lines


async def following(lines: AsyncIterator[bytes]) -> bytes:
    """Read one line."""
    return await anext(lines)


async def take(lines: AsyncIterator[bytes], count: int) -> list[dict[str, Any]]:
    """Read so many events."""
    return [json.loads(await anext(lines)) for _ in range(count)]


def test_events_come_in_order_with_their_time() -> None:
    """
    The daemon's own and the hosts' are lines of JSON; each has the time at which it happened.
    """

    async def story() -> None:
        station = Station()
        lines = await station.join()
        station.bus.publish("created", "a", pid=7)
        station.bus.relay(b'{"event":"title","id":"a","title":"t","ts":"then"}')

        first, second = await take(lines, 2)

        assert (first["event"], first["id"], first["pid"]) == ("created", "a", 7)
        assert (second["event"], second["title"]) == ("title", "t")
        assert dt.datetime.fromisoformat(first["ts"]).utcoffset() == dt.timedelta(0)
        assert second["ts"] == "then"

    asyncio.run(story())


def test_a_watcher_gets_what_it_asked_for() -> None:
    """
    Of one session only, and of the kinds named only.
    """

    async def story() -> None:
        station = Station()
        lines = await station.join("a", ["title"])
        for event, name in (("title", "b"), ("bell", "a"), ("title", "a")):
            station.bus.publish(event, name)

        (seen,) = await take(lines, 1)

        assert (seen["event"], seen["id"]) == ("title", "a")

    asyncio.run(story())


def test_a_renamed_session_is_followed() -> None:
    """
    Under its new name, even by who does not want to hear of renaming; the old one is free.
    """

    async def story() -> None:
        station = Station()
        lines = await station.join("a", ["title"])
        station.bus.publish("renamed", "a", name_now="b")
        station.bus.publish("title", "a", title="of another")
        station.bus.publish("title", "b", title="ours")

        (seen,) = await take(lines, 1)

        assert seen["title"] == "ours"

    asyncio.run(story())


def test_a_slow_watcher_is_told_how_much_it_missed_and_where() -> None:
    """
    A thousand events are kept, then counted; the count stands before what came later.
    """

    async def story() -> None:
        station = Station()
        lines = await station.join()
        for number in range(1500):
            station.bus.publish("bell", "a", number=number)
        kept = await take(lines, 10)
        station.bus.publish("title", "a")

        rest = await take(lines, 992)

        assert [event["number"] for event in kept + rest[:990]] == list(range(1000))
        assert rest[990] == {"event": "lagged", "missed": 500}
        assert rest[991]["event"] == "title"

    asyncio.run(story())


def test_what_was_missed_last_is_told_too() -> None:
    """
    If nothing comes after the loss, the count comes at the end.
    """

    async def story() -> None:
        station = Station()
        lines = await station.join()
        for _ in range(1001):
            station.bus.publish("bell", "a")

        seen = await take(lines, 1001)

        assert seen[-1] == {"event": "lagged", "missed": 1}

    asyncio.run(story())


def test_a_slow_watcher_slows_nobody() -> None:
    """
    Another one gets everything.
    """

    async def story() -> None:
        station = Station()
        await station.join()
        quick = await station.join()
        for number in range(1500):
            station.bus.publish("bell", "a", number=number)
            assert (await take(quick, 1))[0]["number"] == number

    asyncio.run(story())


def test_hosts_are_told_when_somebody_watches() -> None:
    """
    When the first comes and when the last has left, however it left; not in between.
    """

    async def story() -> None:
        station = Station()
        one = await station.join()
        other = await station.join()
        assert station.watched == [True]

        await one.aclose()  # type: ignore[attr-defined]
        assert station.watched == [True]
        waiting = asyncio.get_running_loop().create_task(following(other))
        await asyncio.wait([waiting], timeout=0)
        waiting.cancel()
        await asyncio.wait([waiting])

        assert station.watched == [True, False]

    asyncio.run(story())


def test_a_watcher_who_leaves_before_the_hosts_know_is_forgotten() -> None:
    """
    Leaving while the hosts are being told leaves nothing behind.
    """

    async def story() -> None:
        told: list[bool] = []

        async def never(on: bool) -> None:  # noqa: FBT001  the bus's own callback
            told.append(on)
            if on:
                await asyncio.Event().wait()

        bus = Bus(never)
        waiting = asyncio.get_running_loop().create_task(bus.watch(None, None))
        await asyncio.wait([waiting], timeout=0)
        waiting.cancel()
        await asyncio.wait([waiting])

        assert told == [True, False]
        assert not bus._watchers

    asyncio.run(story())


def test_the_past_comes_first_and_nothing_twice() -> None:
    """
    What was published while the past was fetched is in both; it is sent once, in order.
    """

    async def story() -> None:
        station = Station()

        async def past() -> PastEvents:
            station.bus.relay(b'{"event":"bell","id":"a","instance":"i","seq":4}')
            station.bus.relay(b'{"event":"bell","id":"a","instance":"i","seq":5}')
            bell = {"event": "bell", "id": "a", "instance": "i"}
            events = [{**bell, "seq": number} for number in (3, 4)]
            return PastEvents(events=events, missed=2)

        lines = await station.bus.watch("a", None, past=past)

        told = await take(lines, 4)

        assert told[0] == {"event": "lagged", "missed": 2}
        assert [one["seq"] for one in told[1:]] == [3, 4, 5]

    asyncio.run(story())


def test_an_outcome_is_sent_to_who_asks_for_it() -> None:
    """
    It belongs to an input that everybody saw; by itself it is noise.
    """

    async def story() -> None:
        station = Station()
        outcomes, everything = await station.join(kinds=["outcome"]), await station.join()

        station.bus.relay(b'{"event":"outcome","id":"a"}')
        station.bus.relay(b'{"event":"bell","id":"a"}')

        assert (await take(everything, 1))[0]["event"] == "bell"
        assert (await take(outcomes, 1))[0]["event"] == "outcome"

    asyncio.run(story())
