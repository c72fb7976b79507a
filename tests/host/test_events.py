from __future__ import annotations

import datetime as dt

from agent_pty.host import events
from agent_pty.host.events import KEPT, Bell, Event, EventLog, Numbered, Signal, Title, encoded
from agent_pty.host.principal import Principal


class Listener:
    """Notes what it hears under its own name."""

    def __init__(self, name: str, heard: list[tuple[str, Event | Signal]]) -> None:
        self._name = name
        self._heard = heard

    def notice(self, event: Event | Signal) -> None:
        """Note it."""
        self._heard.append((self._name, event))


class Echo:
    """Publishes something itself when it hears a bell."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def notice(self, event: Event | Signal) -> None:
        """Answer a bell by a title."""
        if isinstance(event, Bell):
            self._log.publish(Title(cursor=0, title="echo"))


def numbers(log: EventLog, since: int) -> list[int]:
    """Return the numbers of the events that are kept after one."""
    return [one.seq for one in log.since(since)[0]]


def test_listeners_are_told_in_the_order_in_which_they_were_added() -> None:
    """
    The order is stated once, where they are added; watchers from outside come last.
    """
    heard: list[tuple[str, Event | Signal]] = []
    log = EventLog()
    log.watch(lambda numbered: heard.append(("watcher", numbered.event)))
    log.add(Listener("first", heard), Listener("second", heard))
    bell = Bell(cursor=1)

    log.publish(bell)

    assert heard == [("first", bell), ("second", bell), ("watcher", bell)]


def test_events_are_built_and_kept_though_nobody_watches() -> None:
    """
    Somebody who comes later can ask for them.
    """
    log = EventLog()

    assert [log.publish(Bell(cursor=number)) for number in range(3)] == [1, 2, 3]
    assert numbers(log, 0) == [1, 2, 3]
    assert numbers(log, 2) == [3]
    assert log.since(3) == ([], 0)


def test_what_a_listener_publishes_comes_after_what_it_heard() -> None:
    """
    Everybody hears events in the order of their numbers, also those behind the listener.
    """
    heard: list[tuple[str, Event | Signal]] = []
    seen: list[Numbered] = []
    log = EventLog()
    log.add(Echo(log), Listener("last", heard))
    log.watch(seen.append)

    log.publish(Bell(cursor=0))

    assert [type(event) for _, event in heard] == [Bell, Title]
    assert [one.seq for one in seen] == [1, 2]


def test_the_oldest_are_forgotten_and_counted() -> None:
    """
    Of more than a thousand the last are kept; it is said how many are missing.
    """
    log = EventLog()
    for _ in range(KEPT + 5):
        log.publish(Bell(cursor=0))

    found, missed = log.since(2)

    assert (len(found), found[0].seq, missed) == (KEPT, 6, 3)


def test_another_host_goes_on_counting() -> None:
    """
    The number survives a crash; what was kept does not, and that is said.
    """
    noted: list[int] = []
    before = EventLog(note=noted.append)
    before.publish(Bell(cursor=0))
    before.publish(Bell(cursor=0))

    after = EventLog(number=noted[-1])

    assert after.since(1) == ([], 1)
    assert after.publish(Bell(cursor=0)) == 3
    assert numbers(after, 2) == [3]


def test_a_signal_is_neither_numbered_nor_kept() -> None:
    """
    It is for the listeners inside the session alone.
    """
    heard: list[tuple[str, Event | Signal]] = []
    log = EventLog()
    log.add(Listener("one", heard))
    log.watch(lambda _numbered: heard.append(("watcher", Bell(cursor=0))))
    batch = events.Batch(data=b"x", marks=(), replies=b"")

    log.signal(batch)

    assert heard == [("one", batch)]
    assert log.since(0) == ([], 0)


def test_after_the_end_nothing_is_published() -> None:
    """
    A viewer may leave when the session has been freed already.
    """
    log = EventLog(note=lambda _number: (_ for _ in ()).throw(AssertionError))
    log.close()

    log.publish(Bell(cursor=0))

    assert log.since(0) == ([], 0)


def test_an_event_is_sent_with_its_session_number_and_time() -> None:
    """
    The kind and the session come first; who did it and where the text was are in it.
    """
    log = EventLog()
    by = Principal(kind="human", transport="unix", uid=7)
    log.publish(events.Input(cursor=5, by=by, kind="keys", bytes=1, entered=False))
    log.publish(events.CellChanged(cursor=6, cell_id="c", status="waiting", waiting_for="input"))
    log.publish(events.Progress(cursor=7, state="busy", percent=None))

    first, second, third = (encoded(one, name="work", instance="i") for one in log.since(0)[0])

    assert list(first)[:3] == ["event", "id", "instance"]
    assert (first["event"], first["id"], first["instance"]) == ("input", "work", "i")
    assert first["by"] == {"kind": "human", "transport": "unix", "uid": 7}
    assert (first["cursor"], first["seq"]) == (5, 1)
    assert dt.datetime.fromisoformat(first["ts"]).utcoffset() == dt.timedelta(0)
    assert (second["for"], "by" in second) == ("input", False)
    assert third["percent"] is None
