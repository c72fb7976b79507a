"""What happens when a process of ours is gone: sessions get a new host, terminals a new keeper."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any

import msgspec

from agent_pty import build, log
from agent_pty.core.evidence.event import Lost
from agent_pty.core.host_deaths import MOST_DEATHS, WINDOW, HostDeaths
from agent_pty.core.layout import Layout
from agent_pty.core.redaction.redactor import redacted
from agent_pty.daemon import orphan_journal
from agent_pty.daemon.creation import Creator
from agent_pty.daemon.ending import Ender
from agent_pty.daemon.host_link import HostLink
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.daemon.lost_sessions import Loss, is_noted, loss_of, note_loss, now, unclaimed
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.tmux_panes import TmuxPanes, Unasked
from agent_pty.errors import AgentPtyError, HostLost, HostUnresponsive
from agent_pty.host.message import Describe, GiveCustody
from agent_pty.keeper.link import KeeperError
from agent_pty.keeper.message import HeldSession, Holdings
from agent_pty.ops.model import Ending, Spec
from agent_pty.tmux.server import PATIENCE

# In the place of a host that died: the session was in tmux, and no host was to blame.
_NO_HOST = "tmux"
# How long a new daemon, for which a client waits, waits for a tmux server.
_START_SECONDS = 1.0


class Recovery:
    """Finds sessions again: after the death of a host, of the keeper, or of a daemon."""

    def __init__(
        self,
        *,
        layout: Layout,
        keeper: KeeperClient,
        pool: Pool,
        registry: Registry,
        creator: Creator,
        ender: Ender,
        panes: TmuxPanes,
    ) -> None:
        self._layout = layout
        self._keeper = keeper
        self._pool = pool
        self._registry = registry
        self._creator = creator
        self._ender = ender
        self._panes = panes
        self._causes: dict[str, str] = {}
        self._deaths = HostDeaths()
        # Hosts that are ended because another build replaces them: no session is to blame.
        self._replaced = {_NO_HOST}
        # By instance: two requests for a session look for it once.
        self._searches: dict[str, asyncio.Task[None]] = {}
        registry.seek_with(self.seek)

    # -- a host is gone

    def note_cause(self, host: str, *, code: int | None, signal: int | None) -> None:
        """Remember how a host ended, for the diagnosis of its sessions."""
        self._causes[host] = f"signal {signal}" if signal is not None else f"exit code {code}"

    def host_died(self, host: str) -> Coroutine[Any, Any, None]:
        """Note that a dead host's sessions have none; what is returned moves them to others."""
        orphans = [record for record in self._registry.records if record.host == host]
        for record in orphans:  # now: the next request must wait, not find that there is no host
            record.orphan()
        return self._rehost(orphans, host, why=None)

    async def _rehost(self, orphans: list[Record], host: str, *, why: Exception | None) -> None:
        """Move sessions; *why* is what prevented it the last time."""
        by_instance = {record.instance: record for record in orphans}
        noted = self._deaths if host not in self._replaced else HostDeaths()
        moves = noted.died(list(by_instance), at=time.monotonic())
        for instance in moves.given_up:
            self._give_up(by_instance[instance], host, why or self._too_many)
        await asyncio.sleep(moves.pause)
        together = [by_instance[instance] for instance in moves.together]
        groups = [[by_instance[instance] for instance in group] for group in moves.apart]
        # A session that has a host of its own gets one again.
        groups += [[record] for record in together if record.spec.isolate]
        await self._move_to(
            self._shared, [record for record in together if not record.spec.isolate], host
        )
        for group in groups:
            await self._move_to(self._pool.private, group, host)

    async def _shared(self) -> HostLink:
        return await self._pool.choose(self._registry.load)

    async def _move_to(
        self, find: Callable[[], Awaitable[HostLink]], records: list[Record], host: str
    ) -> None:
        """Give sessions to the host that *find* returns; if there is none, try again later."""
        # Some may have been killed meanwhile.
        records = [record for record in records if self._registry.has(record)]
        if not records:
            return
        try:
            link = await find()
        except (AgentPtyError, KeeperError, OSError) as error:
            await self._rehost(records, host, why=error)
            return
        for record in records:
            # If the new host dies too, `host_died` finds all of them by this.
            record.assign(link.name)
        lost = [record for record in records if not await self._moved(record, link, host)]
        if lost:
            why = f"{self._cause(host)}, and with it the keeper, which held the terminal"
            await self._lose([(record, Loss(at=now(), why=why)) for record in lost])
        if not self._registry.load(link.name):
            await self._pool.dismiss(link.name)

    async def _moved(self, record: Record, link: HostLink, host: str) -> bool:
        """Give a session to a host; False if its terminal is gone."""
        if record.host != link.name:  # that host has died, and another one has it
            return True
        try:
            await self._creator.hand(record, link)
        except HostUnresponsive:  # it has the session all the same
            record.settle()
        except HostLost:  # it died too: its own `host_died` moves the session on
            pass
        except KeeperError:  # a new keeper does not hold what the one before it held
            return False
        except (AgentPtyError, OSError) as error:
            await self._rehost([record], host, why=error)
        else:
            record.recover(f"{self._cause(host)}; a new host rebuilt the screen")
        return True

    def _cause(self, host: str) -> str:
        return f"host {host} ended ({self._causes.get(host, 'how is not known')})"

    @property
    def _too_many(self) -> HostLost:
        return HostLost(
            f"{MOST_DEATHS} hosts died within {WINDOW:g} s, the last ones with this session alone: "
            f"not trying again, see {self._layout.log}"
        )

    def _give_up(self, record: Record, host: str, error: Exception) -> None:
        """Try no other host; the keeper still holds the terminal."""
        why = f"{self._cause(host)}; {error}"
        log.line(f"daemon: session {record.name} is lost: {why}")
        record.lose(why, at=now(), curable=True)
        self._record_loss(record, why)

    def _record_loss(self, record: Record, why: str) -> None:
        orphan_journal.note(self._layout, record, Lost(diagnosis=redacted(why)))

    async def _lose(self, losses: list[tuple[Record, Loss]], *, patience: float = PATIENCE) -> None:
        """Note sessions whose terminals nobody of us has; those that tmux has are found again."""
        away = [one for one in losses if one[0].spec.tmux is not None]
        gone = [one for one in losses if one[0].spec.tmux is None]
        answers = await self._panes.find_again(away, patience=patience)
        for (record, first), answer in zip(away, answers, strict=True):
            if answer is None:
                await self._take_back(record)
            elif isinstance(answer, Unasked):
                self._miss(record, first, answer)
            else:
                gone.append((record, answer))
        await self._lose_for_good(gone)

    async def _take_back(self, record: Record) -> None:
        """Give a session whose pane the keeper has now to a host."""
        record.orphan()
        await self._rehost([record], _NO_HOST, why=None)
        record.recover("found again in tmux; output was missed before that")

    def _miss(self, record: Record, first: Loss, unasked: Unasked) -> None:
        """Keep a session of which tmux could not be asked: its program may go on there."""
        if not record.is_unasked:
            log.line(f"daemon: session {record.name} is out of reach: {unasked.why}")
        record.miss(f"it may go on in tmux: {unasked.why}", at=record.lost_at or first.at)

    async def seek(self, record: Record) -> None:
        """Look again for a session of which tmux could not be asked."""
        search = self._searches.get(record.instance)
        if search is None:
            loss = loss_of(self._layout, record.spec)
            search = asyncio.get_running_loop().create_task(self._lose([(record, loss)]))
            self._searches[record.instance] = search
            search.add_done_callback(lambda _: self._searches.pop(record.instance))
        # Whoever asked may leave; the others wait for the same search.
        await asyncio.shield(search)

    async def seek_all(self, there: Iterable[Record]) -> None:
        """Take back the sessions that tmux has after all."""
        await asyncio.gather(*(self.seek(record) for record in there if record.is_unasked))

    async def _lose_for_good(self, losses: list[tuple[Record, Loss]]) -> None:
        """Note sessions whose terminals are gone, and end what outlived them."""
        for record, loss in losses:
            log.line(f"daemon: session {record.name} is lost: {loss.why}")
            record.lose(loss.why, at=loss.at, curable=False)
            if not is_noted(self._layout, record.instance):  # else it was recorded then
                self._record_loss(record, loss.why)
            note_loss(self._layout, record.instance, loss)
        swept = await self._ender.sweep([record for record, _ in losses if not _is_persons(record)])
        for process in swept.ended:
            log.line(f"daemon: ended process {process}, which outlived its session")
        for process in swept.survivors:
            log.line(f"daemon: could not end process {process}")

    # -- the keeper is gone

    async def keeper_replaced(self) -> None:
        """Have every host give its terminals to the new keeper."""
        for link in [link for link in self._pool.links if link.responsive]:
            try:
                await link.control(GiveCustody())
            except AgentPtyError as error:
                log.line(f"daemon: host {link.name} gave no custody: {error}")

    # -- an earlier daemon is gone

    async def find_all(self, endings: Mapping[str, Ending]) -> Holdings:
        """Take over what an earlier daemon left; return what the keeper holds.

        *endings* are those of programs that it saw end, by the instances of their sessions.
        """
        held = await self._keeper.connect()
        # The keeper has removed the socket of a host that died: its name must stay taken.
        for session in held.sessions.values():
            self._pool.reserve(session.host or "")
        hosts: dict[str, int | None] = {**dict.fromkeys(self._sockets()), **held.hosts}
        # All at once: each that hangs is waited for, and a client waits for us.
        await asyncio.gather(*(self._take_host(name, pid) for name, pid in hosts.items()))
        await self.keeper_replaced()
        known = {record.instance for record in self._registry.records}
        for instance, session in held.sessions.items():
            if instance not in known:
                await self._take_orphan(instance, session)
        await self._find_lost(endings)
        await self._replace_old_hosts()
        return held

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
            report = await link.control(Describe())
        except AgentPtyError as error:
            # It may come back; until then its sessions are listed by what the keeper knows.
            log.line(f"daemon: {error}")
            return
        link.introduce(report)
        if any(one.spec.isolate for one in report.sessions):
            self._pool.seclude(name)
        for one in report.sessions:
            record = Record(one.spec)
            record.assign(name)
            record.update(one)
            self._registry.date_loss(record)
            record.settle()
            self._registry.add(record)

    async def _take_orphan(self, instance: str, session: HeldSession) -> None:
        """A terminal that only the keeper has: its host died while there was no daemon."""
        try:
            spec = self._spec(instance, session)
        except (OSError, msgspec.DecodeError) as error:
            log.line(f"daemon: nothing is known of session {instance}: {error}")
            await self._ender.discard(instance, pid=session.pid, birth=session.birth)
            return
        record = Record(spec, pid=session.pid, birth=session.birth)
        record.assign(session.host)
        if session.ended is not None:
            record.exit(Ending(code=session.ended.code, signal=session.ended.signal))
        self._registry.add(record)
        if self._pool.get(record.host) is not None:  # it lives but does not answer
            record.settle()
            if spec.isolate:
                self._pool.seclude(record.host or "")
            return
        record.orphan()
        await self._rehost([record], str(session.host), why=None)

    def _spec(self, instance: str, session: HeldSession) -> Spec:
        """Return what its host has saved; if it never had one, what the keeper was given."""
        try:
            return _read_spec(self._layout.spec(instance))
        except FileNotFoundError:
            if session.spec is None:
                raise
            return msgspec.convert(session.spec, Spec)

    async def _find_lost(self, endings: Mapping[str, Ending]) -> None:
        """Report the sessions that neither the keeper nor a host has."""
        silent = [link.name for link in self._pool.links if link.build is None]
        lost: list[tuple[Record, Loss]] = []
        names = {record.name for record in self._registry.records}
        for spec in unclaimed(self._layout, self._registry.instances):
            if spec.name in names:
                log.line(f"daemon: {spec.instance} was lost as {spec.name}, name in use")
                continue
            record = Record(spec)
            if spec.instance in endings:
                record.exit(endings[spec.instance])
            self._registry.add(record)
            if silent:
                why = f"no host that answers has it; {' or '.join(silent)} does not answer"
                record.lose(why, at=now(), curable=True)
            else:
                lost.append((record, loss_of(self._layout, spec)))
        if lost:
            await self._lose(lost, patience=_START_SECONDS)

    async def _replace_old_hosts(self) -> None:
        """Replace hosts of another build, one by one, if the keeper forks hosts of ours."""
        if self._keeper.build != build.digest():
            return
        for link in self._pool.links:
            if link.build is not None and link.build != build.digest():
                self._causes[link.name] = "replaced by another build"
                self._replaced.add(link.name)
                await self._pool.replace(link)


def _is_persons(record: Record) -> bool:
    """Whether a person, not we, started its program."""
    return record.spec.tmux is not None and record.spec.tmux.adopted


def _read_spec(path: str) -> Spec:
    with open(path, "rb") as file:
        return msgspec.json.decode(file.read(), type=Spec)
