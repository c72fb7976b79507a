"""Events of all sessions, for everybody who watches; a slow watcher loses some and is told."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec

_KEPT = 1000


class Watcher:
    """One client's queue of events."""

    def __init__(self, name: str | None, kinds: Sequence[str] | None) -> None:
        self._name = name
        self._kinds = set(kinds) if kinds is not None else None
        self._events: deque[dict[str, Any]] = deque()
        self._missed = 0
        self._news = asyncio.Event()

    def wants(self, event: dict[str, Any]) -> bool:
        """Whether this is for this watcher; a renamed session is followed."""
        if self._name is not None and event["id"] != self._name:
            return False
        if event["event"] == "renamed" and self._name is not None:
            self._name = event["name_now"]
        return self._kinds is None or event["event"] in self._kinds

    def offer(self, event: dict[str, Any]) -> None:
        """Add an event; of too many the newest are dropped and counted."""
        if len(self._events) >= _KEPT:
            self._missed += 1
        else:
            self._own_up()
            self._events.append(event)
        self._news.set()

    def _own_up(self) -> None:
        """Say how many are missing, at the place where they are."""
        if self._missed:
            self._events.append({"event": "lagged", "missed": self._missed})
            self._missed = 0

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield events as lines of JSON, and where some are missing, how many."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._events:
                yield msgspec.json.encode(self._events.popleft()) + b"\n"
                if not self._events:
                    self._own_up()


class Bus:
    """Publishes events; *on_watched* is told when the first watcher comes and the last leaves."""

    def __init__(self, on_watched: Callable[[bool], Awaitable[None]]) -> None:
        self._on_watched = on_watched
        self._watchers: set[Watcher] = set()

    def publish(self, event: str, name: str, **facts: Any) -> None:
        """Tell an event of the daemon's own."""
        self._tell({"event": event, "id": name, **facts})

    def relay(self, encoded: bytes) -> None:
        """Tell an event of a host."""
        if self._watchers:
            self._tell(msgspec.json.decode(encoded))

    def _tell(self, event: dict[str, Any]) -> None:
        event["ts"] = dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
        for watcher in self._watchers:
            if watcher.wants(event):
                watcher.offer(event)

    async def watch(
        self, name: str | None, kinds: Sequence[str] | None, *, announce: bool = False
    ) -> AsyncIterator[bytes]:
        """Yield events until the watcher leaves; *announce* when none is missed any more."""
        watcher = Watcher(name, kinds)
        self._watchers.add(watcher)
        try:
            if len(self._watchers) == 1:
                await self._on_watched(True)
            if announce:
                yield b'{"event":"watching"}\n'
            async for line in watcher.lines():
                yield line
        finally:
            self._watchers.discard(watcher)
            if not self._watchers:
                await self._on_watched(False)
