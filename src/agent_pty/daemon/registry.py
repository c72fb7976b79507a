"""The registry: which sessions there are, and where they are."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from agent_pty.core import name as names
from agent_pty.core.layout import Layout
from agent_pty.daemon.host_link import HostLink
from agent_pty.daemon.lost_sessions import Loss, is_noted, loss_of, note_loss, now
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.errors import AgentPtyError, HostLost, SessionExists, UnknownSession
from agent_pty.host.message import Describe, GiveCustody, Rename
from agent_pty.ops.model import Described, Ending, SessionInfo, State

_NAMES_REMEMBERED = 1000
_MOVE_SECONDS = 5.0
# How long `status` waits for hosts: it must answer also when one hangs.
_GLANCE_SECONDS = 0.5


# Looks again for a session that may be in tmux.
Seek = Callable[[Record], Awaitable[None]]


class Registry:
    """Sessions by name."""

    def __init__(self, layout: Layout, pool: Pool) -> None:
        self._layout = layout
        self._pool = pool
        self._records: dict[str, Record] = {}
        self._reserved: set[str] = set()
        # Names that were killed: a second kill is no error. The newest are remembered.
        self._killed: OrderedDict[str, None] = OrderedDict()
        self._used: OrderedDict[str, None] = OrderedDict()
        # Instances that are being started, and how they ended if that came first.
        self._unborn: dict[str, Ending | None] = {}
        self._seek: Seek | None = None

    @property
    def records(self) -> list[Record]:
        """Every session known; exited ones in the order in which they exited."""
        return list(self._records.values())

    @property
    def instances(self) -> set[str]:
        """The instances of every session, also of those whose program is being started."""
        return {record.instance for record in self.records} | self._unborn.keys()

    def find(self, name: str) -> Record:
        """Return the session called *name*, exactly."""
        if name not in self._records:
            raise UnknownSession(names.checked(name))
        return self._records[name]

    def made_by(self, key: str | None) -> Record | None:
        """Return the session that a request with this key has made."""
        if key is None:
            return None
        return next((one for one in self._records.values() if one.spec.key == key), None)

    def has(self, record: Record) -> bool:
        """Whether a session still exists."""
        return self._records.get(record.name) is record

    def was_killed(self, name: str) -> bool:
        """Whether a session of this name was killed, and there is no new one."""
        return name not in self._records and name in self._killed

    def uses(self, name: str) -> bool:
        """Whether there is a session of this name, or one is being made or renamed."""
        return name in self._records or name in self._reserved

    def load(self, host: str) -> int:
        """How many sessions a host has."""
        return sum(record.host == host for record in self._records.values())

    # -- names

    def reserve(self, name: str | None, *, prefix: str | None = None) -> str:
        """Take a free name, or generate one; the caller must `unreserve` it.

        A name with a *prefix* is for programs, which may remember it: it is not used again soon.
        """
        taken = self._records.keys() | self._reserved
        if name is not None:
            name = names.usable(name)
        elif prefix is None:
            name = names.generated(taken)
        else:
            name = names.usable(names.generated(taken | self._used.keys(), prefix))
        if name in taken:
            raise SessionExists(name)
        self._reserved.add(name)
        return name

    def unreserve(self, name: str) -> None:
        """The name is used by a record now, or not at all."""
        self._reserved.discard(name)

    def add(self, record: Record) -> None:
        """Take in a session."""
        self._killed.pop(record.name, None)
        self._records[record.name] = record
        _remember(self._used, record.name)

    def remove(self, record: Record) -> None:
        """Forget a session."""
        # Of two kills at once the second may find a new session of that name.
        if self.has(record):
            del self._records[record.name]

    def remember_killed(self, name: str) -> None:
        """Note that a session was killed."""
        _remember(self._killed, name)

    async def give_name(self, name: str, new_name: str) -> SessionInfo:
        """Rename a session, in its host first."""
        record = self.find(name)
        new_name = self.reserve(new_name)
        try:
            link = await self.link(record)
            await link.control(Rename(instance=record.instance, name=new_name))
            self.rename(record, new_name)
        finally:
            self.unreserve(new_name)
        return self.info(record)

    def rename(self, record: Record, name: str) -> None:
        """Give a session another name."""
        self.remove(record)
        record.rename(name)
        self._records[name] = record

    # -- asking

    async def list(self) -> list[SessionInfo]:
        """Ask every host; what one that does not answer last said is still shown."""
        await asyncio.gather(*(self._refresh(link) for link in self._pool.links))
        return [self.info(record) for record in sorted(self.records, key=lambda r: r.name)]

    async def glance(self) -> None:
        """Ask every host how its sessions are; one that is slow is not waited for."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GLANCE_SECONDS):
                await asyncio.gather(*(self._refresh(link) for link in self._pool.links))

    async def _refresh(self, link: HostLink) -> None:
        if not link.responsive:
            link.ping()  # not waited for again: when it answers, the next list asks it
            return
        try:
            report = await link.control(Describe())
        except AgentPtyError:
            return
        link.introduce(report)
        by_instance = {record.instance: record for record in self.records}
        here = [one for one in report.sessions if one.spec.instance in by_instance]
        found = [one for one in here if _is_nowhere(by_instance[one.spec.instance])]
        for one in found:
            by_instance[one.spec.instance].find_again(link.name)
        for one in here:
            self._update(by_instance[one.spec.instance], one)
        if found:  # the keeper does not hold their terminals
            with contextlib.suppress(AgentPtyError):
                await link.control(GiveCustody())

    def _update(self, record: Record, one: Described) -> None:
        known = record.state is State.EXITED
        record.update(one)
        self.date_loss(record)
        if record.state is State.EXITED and not known:  # there was no keeper to report it
            self.ended(one.spec.instance, one.ending or Ending())

    def date_loss(self, record: Record) -> None:
        """Note when it was noticed first that a session is lost, if its host has said so."""
        if record.state is State.LOST and record.lost_at is None:
            loss = loss_of(self._layout, record.spec)
            if not is_noted(self._layout, record.instance):
                loss = Loss(at=loss.at, why=record.diagnosis or loss.why)
                note_loss(self._layout, record.instance, loss)
            record.date_loss(loss.at)

    def info(self, record: Record) -> SessionInfo:
        """Return what is known of a session."""
        link = self._pool.get(record.host)
        info = record.info(self._layout, link.pid if link is not None else None)
        if link is None or link.responsive:
            return info
        return msgspec.structs.replace(info, diagnosis=f"host {link.name} does not answer")

    def entries(self) -> Sequence[SessionInfo]:
        """Return what may be written into the index of every session."""
        return [self.entry(record) for record in self.records]

    def entry(self, record: Record) -> SessionInfo:
        """Return what may be written into the index of a session."""
        return record.without_secrets(self.info(record))

    def seek_with(self, seek: Seek) -> None:
        """Call *seek* when a session is asked for of which tmux could not be asked."""
        self._seek = seek

    async def link(self, record: Record) -> HostLink:
        """Return the host of a session; one that is being moved is waited for."""
        if record.is_unasked and self._seek is not None:
            await self._seek(record)
        if not record.settled.is_set():  # nearly always it is, and a timer costs time
            await self._settled(record)
        link = self._pool.get(record.host)
        if link is None and record.state is not State.LOST:
            # A transport that ends says so one turn of the loop before `connection_lost` is called.
            await asyncio.sleep(0)
            if not record.settled.is_set():
                await self._settled(record)
            link = self._pool.get(record.host)
        if link is None:
            why = record.diagnosis or "its host was lost"
            raise HostLost(
                f"session {record.name} is lost: {why}. {record.remedy}",
                id=record.name,
                remedy=record.remedy,
            )
        return link

    async def _settled(self, record: Record) -> None:
        try:
            async with asyncio.timeout(_MOVE_SECONDS):
                await record.settled.wait()
        except TimeoutError:
            raise HostLost(f"session {record.name} has no host yet; ask again") from None

    # -- exits

    def expect(self, instance: str) -> None:
        """A program is being started; its exit may be reported before it is recorded."""
        self._unborn[instance] = None

    def expected(self, instance: str) -> Ending | None:
        """The program was started, or not; return how it ended if that came first."""
        return self._unborn.pop(instance)

    def ended(self, instance: str, ending: Ending) -> None:
        """Note that a session's program ended."""
        if instance in self._unborn:
            self._unborn[instance] = ending
            return
        record = next((r for r in self.records if r.instance == instance), None)
        if record is None:
            return
        record.exit(ending, at=now())
        # Inserted again: the order of the dictionary is the order in which they exited.
        self._records[record.name] = self._records.pop(record.name)


def _is_nowhere(record: Record) -> bool:
    """Whether no host is known to have it; one that has it may say that it is lost, too."""
    return record.state is State.LOST and record.host is None


def _remember(names: OrderedDict[str, None], name: str) -> None:
    names[name] = None
    while len(names) > _NAMES_REMEMBERED:
        names.popitem(last=False)
