"""Which recording a question about a past screen is for, and which host draws it."""

from __future__ import annotations

import asyncio
import time

import msgspec

from agent_pty.core.evidence import moment
from agent_pty.core.layout import Layout
from agent_pty.daemon.host_link import HostLink
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.registry import Registry
from agent_pty.errors import BadRequest, UnknownSession
from agent_pty.host import message
from agent_pty.ops.past_screen import PastScreen, ScreenAt
from agent_pty.store import journal_files
from agent_pty.store.journal_reader import page


class PastScreens:
    """Asks the session's own host while there is one: only it knows what is not written yet."""

    def __init__(self, layout: Layout, registry: Registry, pool: Pool) -> None:
        self._layout = layout
        self._registry = registry
        self._pool = pool

    async def draw(self, asked: ScreenAt) -> PastScreen:
        """Return a screen of the past."""
        found = moment.parsed(asked.at, now=time.time())
        path = journal_files.find(self._layout.log_dir, asked.id, asked.instance)
        instance = None if path is None else journal_files.instance_of(path)
        if path is None or instance is None:
            raise UnknownSession(asked.id, asked.instance)
        at_ns = None
        if found.event is not None:
            at_ns = await asyncio.to_thread(_time_of, path, found.event)
        link = await self._link(instance)
        return await link.control(
            message.ShowPast(
                name=asked.id,
                instance=instance,
                monotonic_ns=at_ns,
                time=found.time,
                form=asked.format,
            )
        )

    async def _link(self, instance: str) -> HostLink:
        for record in self._registry.records:
            if record.instance == instance and record.host is not None:
                return await self._registry.link(record)
        return await self._pool.choose(self._registry.load)


def _time_of(path: str, number: int) -> int:
    """Return when an event was recorded, by the monotonic clock."""
    lines = page(path, after=number - 1, most_bytes=1) if number else []
    try:
        event = msgspec.json.decode(lines[0]) if lines else {}
        if event.get("sequence") == number:
            return int(event["monotonic_ns"])
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise BadRequest(f"event {number} is damaged: {error}", field="at") from error
    raise BadRequest(f"there is no event {number}: `agent-pty replay` lists them", field="at")
