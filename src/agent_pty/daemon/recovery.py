"""What to do when one of us dies: sessions move to a new host, terminals to a new keeper."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import Any

import msgspec

from agent_pty.core.layout import Layout
from agent_pty.daemon.host_link import HostLink
from agent_pty.daemon.keeper_client import Keeping
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.errors import AgentPtyError, HostLost, HostUnresponsive
from agent_pty.keeper.link import KeeperError
from agent_pty.ops.model import Ending, HostReport, Spec, State


class Custody:
    """Finds sessions again: after the death of a host, of the keeper, or of a daemon."""

    def __init__(self, layout: Layout, keeping: Keeping, pool: Pool, registry: Registry) -> None:
        self._layout = layout
        self._keeping = keeping
        self._pool = pool
        self._registry = registry
        self._causes: dict[str, str] = {}

    def note_cause(self, host: str, *, code: int | None, signal: int | None) -> None:
        """Remember how a host ended, for the diagnosis of its sessions."""
        self._causes[host] = f"signal {signal}" if signal is not None else f"exit code {code}"

    async def host_died(self, host: str) -> None:
        """Give a dead host's sessions to a new one, which rebuilds their screens."""
        orphans = [record for record in self._registry.records if record.host == host]
        for record in orphans:
            record.settled.clear()
            record.host = None
        await self._rehost(orphans, host)

    async def _rehost(self, orphans: list[Record], host: str) -> None:
        shared = [record for record in orphans if not record.spec.isolate]
        try:
            await self._pool.allow_replacement()
            link = await self._pool.choose(self._registry.load) if shared else None
        except (AgentPtyError, KeeperError, OSError) as error:
            self._give_up(orphans, f"{self._cause(host)}; {error}")
            return
        target = link.name if link is not None else None
        for record in shared:
            record.host = target  # if it dies too, its burial finds them all
        for record in orphans:
            if record.spec.isolate or record.host == target:
                await self._move(record, link, host)

    async def _move(self, record: Record, link: HostLink | None, host: str) -> None:
        try:
            target = link if link is not None and not record.spec.isolate else None
            await self._registry.hand(record, target or await self._pool.private())
        except HostUnresponsive:  # it has the session all the same
            record.settled.set()
            return
        except HostLost:  # it died too: its own burial moves the session on
            return
        except (AgentPtyError, KeeperError, OSError) as error:
            self._give_up([record], f"{self._cause(host)}; {error}")
            return
        record.diagnosis = f"{self._cause(host)}; a new host rebuilt the screen"

    def _cause(self, host: str) -> str:
        return f"host {host} ended ({self._causes.get(host, 'how is not known')})"

    def _give_up(self, records: list[Record], why: str) -> None:
        for record in records:
            sys.stderr.write(f"daemon: session {record.name} is lost: {why}\n")
            record.state = State.LOST
            record.host = None
            record.diagnosis = why
            record.settled.set()

    async def keeper_replaced(self) -> None:
        """Have every host give its terminals to the new keeper."""
        for link in [link for link in self._pool.links if link.responsive]:
            try:
                await link.control("custody")
            except AgentPtyError as error:
                sys.stderr.write(f"daemon: host {link.name} gave no custody: {error}\n")

    async def find_all(self) -> None:
        """Take over what an earlier daemon left."""
        held = await self._keeping.connect()
        hosts: dict[str, int | None] = {**dict.fromkeys(self._sockets()), **held["hosts"]}
        # At once: each that hangs costs its patience, and a client waits for us.
        await asyncio.gather(*(self._take_host(name, pid) for name, pid in hosts.items()))
        await self.keeper_replaced()
        known = {record.spec.instance for record in self._registry.records}
        for instance, session in held["sessions"].items():
            if instance not in known:
                await self._take_orphan(instance, session)

    def _sockets(self) -> list[str]:
        found = [name for name in os.listdir(self._layout.run) if name.endswith(".sock")]
        return [name.removesuffix(".sock") for name in found if name[1:2].isdigit()]

    async def _take_host(self, name: str, pid: int | None) -> None:
        self._pool.reserve(name)
        link = await self._pool.find(name, pid)
        if link is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._layout.host_socket(name))
            return
        try:
            report = msgspec.convert(await link.control("describe"), HostReport)
        except AgentPtyError as error:
            # It may come back; until then its sessions are listed by what the keeper knows.
            sys.stderr.write(f"daemon: {error}\n")
            return
        link.pid = report.pid
        if any(one.spec.isolate for one in report.sessions):
            self._pool.seclude(name)
        for one in report.sessions:
            record = Record(spec=one.spec, host=name)
            record.update(one)
            record.settled.set()
            self._registry.add(record)

    async def _take_orphan(self, instance: str, session: dict[str, Any]) -> None:
        """A terminal that only the keeper has: its host died while there was no daemon."""
        try:
            spec = _read_spec(self._layout.spec(instance))
        except (OSError, msgspec.DecodeError) as error:
            sys.stderr.write(f"daemon: nothing is known of session {instance}: {error}\n")
            await self._registry.discard(instance, pid=session["pid"], birth=session["birth"])
            return
        ended = msgspec.convert(session["ended"], Ending | None)
        record = Record(
            spec=spec,
            host=session["host"],
            pid=session["pid"],
            birth=session["birth"],
            ending=ended,
            state=State.RUNNING if ended is None else State.EXITED,
        )
        self._registry.add(record)
        if self._pool.get(record.host) is not None:  # it lives but does not answer
            record.settled.set()
            if spec.isolate:
                self._pool.seclude(record.host or "")
            return
        record.host = None
        await self._rehost([record], str(session["host"]))


def _read_spec(path: str) -> Spec:
    with open(path, "rb") as file:
        return msgspec.json.decode(file.read(), type=Spec)
