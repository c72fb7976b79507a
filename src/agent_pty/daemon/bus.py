"""Events of all sessions, for everybody who watches; a slow watcher learns how many it missed."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec

from agent_pty.host.message import PastEvents

_KEPT = 1000
# Sent only to a watcher that asks for them by name: each belongs to an `input` event.
_ON_REQUEST = frozenset({"outcome"})

Event = dict[str, Any]
Past = Callable[[], Awaitable[PastEvents]]


class Watcher:
    """One client's queue of events."""

    def __init__(self, name: str | None, kinds: Sequence[str] | None) -> None:
        self._name = name
        self._kinds = set(kinds) if kinds is not None else None
        self._events: deque[Event] = deque()
        self._missed = 0
        self._seen: dict[str, int] = {}
        self._changed = asyncio.Event()

    def wants(self, event: Event) -> bool:
        """Whether this is for this watcher; a renamed session is followed."""
        if self._name is not None and event["id"] != self._name:
            return False
        if event["event"] == "renamed" and self._name is not None:
            self._name = event["name_now"]
        return self.wants_kind(event)

    def wants_kind(self, event: Event) -> bool:
        """Whether this kind of event was asked for."""
        kind = event["event"]
        return kind not in _ON_REQUEST if self._kinds is None else kind in self._kinds

    def offer(self, event: Event) -> None:
        """Add an event; of too many the newest are dropped and counted."""
        if len(self._events) >= _KEPT:
            self._missed += 1
        else:
            self._report_missed()
            self._events.append(event)
        self._changed.set()

    def skip(self, event: Event) -> None:
        """Leave out the events of a session up to this one, which was sent already."""
        self._seen[event["instance"]] = event["seq"]

    def _is_new(self, event: Event) -> bool:
        number: int = event.get("seq", 1)
        return number > self._seen.get(event.get("instance", ""), 0)

    def _report_missed(self) -> None:
        """Say how many are missing, at the place where they are."""
        if self._missed:
            self._events.append(lagged(self._missed))
            self._missed = 0

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield events as lines of JSON, and where some are missing, how many."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._events:
                event = self._events.popleft()
                if self._is_new(event):
                    yield _line(event)
                if not self._events:
                    self._report_missed()


def lagged(missed: int) -> Event:
    """Return the event that stands for others."""
    return {"event": "lagged", "missed": missed}


def _line(event: Event) -> bytes:
    return msgspec.json.encode(event) + b"\n"


class Bus:
    """Publishes events; *on_watched* is called when the first watcher comes and the last leaves."""

    def __init__(self, on_watched: Callable[[bool], Awaitable[None]]) -> None:
        self._on_watched = on_watched
        self._watchers: set[Watcher] = set()

    def publish(self, event: str, name: str, **facts: Any) -> None:
        """Publish an event of the daemon's own."""
        ts = dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
        self._send({"event": event, "id": name, **facts, "ts": ts})

    def relay(self, encoded: bytes) -> None:
        """Publish an event of a host."""
        if self._watchers:
            self._send(msgspec.json.decode(encoded))

    def _send(self, event: Event) -> None:
        for watcher in self._watchers:
            if watcher.wants(event):
                watcher.offer(event)

    async def watch(
        self,
        name: str | None,
        kinds: Sequence[str] | None,
        *,
        past: Past | None = None,
        announce: Event | None = None,
    ) -> AsyncIterator[bytes]:
        """Return events as lines, those of the *past* first; none is missed from now on.

        *announce* is the first event, which says so. Iterate over them at once, or the watcher
        stays.
        """
        watcher = Watcher(name, kinds)
        self._watchers.add(watcher)
        try:
            if len(self._watchers) == 1:
                await self._on_watched(True)
        except BaseException:
            await self._leave(watcher)
            raise
        return self._lines(watcher, past, announce=announce)

    async def _lines(
        self, watcher: Watcher, past: Past | None, *, announce: Event | None
    ) -> AsyncIterator[bytes]:
        try:
            if announce is not None:
                yield _line(announce)
            if past is not None:
                for line in _replayed(watcher, await past()):
                    yield line
            async for line in watcher.lines():
                yield line
        finally:
            await self._leave(watcher)

    async def _leave(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)
        if not self._watchers:
            await self._on_watched(False)


def _replayed(watcher: Watcher, past: PastEvents) -> list[bytes]:
    """Return the lines of past events; what was published meanwhile is not sent twice."""
    events = [lagged(past.missed)] if past.missed else []
    events += [event for event in past.events if watcher.wants_kind(event)]
    for event in past.events:
        watcher.skip(event)
    return [_line(event) for event in events]
