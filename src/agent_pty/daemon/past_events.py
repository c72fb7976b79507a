"""Watch events from where a watcher stopped: what the hosts still keep first, then what happens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from agent_pty.daemon.bus import Bus, Event
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.errors import AgentPtyError
from agent_pty.host.message import EventsSince, PastEvents


class PastAndPresent:
    """The events of sessions, past and present, in one stream."""

    def __init__(self, bus: Bus, registry: Registry) -> None:
        self._bus = bus
        self._registry = registry

    async def watch(
        self,
        name: str | None,
        kinds: Sequence[str] | None,
        *,
        after: Mapping[str, int] | None = None,
        announce: bool = False,
    ) -> AsyncIterator[bytes]:
        """Follow one session or all; with *after*, begin with the events after these numbers.

        *after* is by instance; of a session that is not in it, every event counts. With
        *announce*, the first event has these numbers as they are now.
        """
        # Before the watcher is registered: what happens in between is seen twice, never missed.
        watching: Event | None = None
        if announce:
            await self._registry.list()
            seen = {one.instance: one.last_event for one in self._records(name)}
            watching = {"event": "watching", "seen": {**seen, **(after or {})}}

        async def past() -> PastEvents:
            return await self._since(name, after or {})

        return await self._bus.watch(
            name, kinds, past=past if after is not None else None, announce=watching
        )

    def _records(self, name: str | None) -> list[Record]:
        return [self._registry.find(name)] if name is not None else self._registry.records

    async def _since(self, name: str | None, after: Mapping[str, int]) -> PastEvents:
        events: list[Event] = []
        missed = 0
        for record in self._records(name):
            found = await self._of(record, after.get(record.instance, 0))
            events += found.events
            missed += found.missed
        return PastEvents(events=sorted(events, key=lambda one: str(one["ts"])), missed=missed)

    async def _of(self, record: Record, number: int) -> PastEvents:
        try:
            link = await self._registry.link(record)
            return await link.control(EventsSince(instance=record.instance, number=number))
        except AgentPtyError:  # its host is lost, and with it what it had kept
            return PastEvents(events=[], missed=0)
