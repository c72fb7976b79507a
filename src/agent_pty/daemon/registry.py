"""The registry: which sessions there are, where they live, and what becomes of them."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import os
import secrets
import shutil
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agent_pty.client.shell import default_shell
from agent_pty.core import name as names
from agent_pty.core.layout import Layout, expanded
from agent_pty.daemon.host_link import HostLink, HostStream
from agent_pty.daemon.keeper_client import Keeping
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.errors import (
    AgentPtyError,
    BadRequest,
    HostLost,
    SessionExists,
    UnknownSession,
)
from agent_pty.integration import integrate
from agent_pty.integration.injected import Injected
from agent_pty.keeper.link import KeeperError
from agent_pty.ops.model import (
    Described,
    Ending,
    HostReport,
    Killed,
    Process,
    SessionInfo,
    Spec,
    State,
)
from agent_pty.process import tree

_EXITED_KEPT = 25
_KILLED_REMEMBERED = 1000
_MOVE_SECONDS = 5.0


class Registry:
    """Sessions by name. Its methods are what the daemon's ops are made of."""

    def __init__(self, layout: Layout, keeping: Keeping, pool: Pool) -> None:
        self._layout = layout
        self._keeping = keeping
        self._pool = pool
        self._records: dict[str, Record] = {}
        self._reserved: set[str] = set()
        # Instances that are being started, and how they ended if that came first.
        self._unborn: dict[str, Ending | None] = {}
        # Names that were killed: a second kill is no error. The newest are remembered.
        self._killed: OrderedDict[str, None] = OrderedDict()
        self._evictions: dict[str, asyncio.Task[None]] = {}

    @property
    def records(self) -> list[Record]:
        """Every session known."""
        return list(self._records.values())

    def find(self, name: str) -> Record:
        """Return the session called *name*, exactly."""
        if name not in self._records:
            raise UnknownSession(names.checked(name))
        return self._records[name]

    def add(self, record: Record) -> None:
        """Take in a session that was there before us."""
        self._records[record.name] = record

    def load(self, host: str) -> int:
        """How many sessions a host has."""
        return sum(record.host == host for record in self._records.values())

    # -- creating

    async def create(
        self,
        *,
        name: str | None,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        rows: int,
        cols: int,
        title: str | None,
        isolate: bool,
        marks: bool = True,
        frame: str | None = None,
    ) -> SessionInfo:
        """Start a program; if any step fails, nothing of it is left."""
        name = self._reserve(name)
        try:
            argv = [argv[0] or default_shell(), *argv[1:]]
            nonce = secrets.token_hex(8)
            program, injected = integrate(argv, env, nonce, wanted=marks)
            spec = Spec(
                instance=secrets.token_hex(8),
                name=name,
                argv=argv,
                workspace=_directory(cwd),
                env_names=sorted(env),
                rows=rows,
                cols=cols,
                started_at=_now(),
                title=title,
                isolate=isolate,
                nonce=nonce,
                program=program,
                frame=frame,
            )
            self._unborn[spec.instance] = None
            try:
                record = await self._start(spec, injected)
            finally:
                early = self._unborn.pop(spec.instance)
        finally:
            self._reserved.discard(name)
        self._killed.pop(name, None)
        self._records[name] = record
        if early is not None:
            self.ended(spec.instance, early)
        return self.info(record)

    def _reserve(self, name: str | None) -> str:
        taken = self._records.keys() | self._reserved
        name = names.generated(taken) if name is None else names.checked(name)
        if name in taken:
            raise SessionExists(name)
        self._reserved.add(name)
        return name

    async def _start(self, spec: Spec, injected: Injected) -> Record:
        host = await self._host_for(spec)
        marks = {"AGENT_PTY_SESSION": spec.name, tree.INSTANCE_VARIABLE: spec.instance}
        try:
            started = await self._keeping.spawn(
                spec.instance,
                argv=injected.argv,
                cwd=spec.workspace,
                env={**injected.env, **marks},
                rows=spec.rows,
                cols=spec.cols,
            )
        except AgentPtyError:
            await self._pool.dismiss(host.name)
            raise
        record = Record(spec=spec, pid=started["pid"], birth=started["birth"])
        try:
            await self.hand(record, host)
        except (AgentPtyError, KeeperError):
            await self._undo(record, host)
            raise
        return record

    async def _host_for(self, spec: Spec) -> HostLink:
        return await (self._pool.private() if spec.isolate else self._pool.choose(self.load))

    async def hand(self, record: Record, host: HostLink) -> None:
        """Give a session's terminal to a host and wait until it reads it."""
        record.host = host.name
        spec = msgspec.to_builtins(record.spec)
        await self._keeping.ask(
            {"do": "hand", "session": record.spec.instance, "host": host.name, "spec": spec}
        )
        described = await host.control("opened", session=record.spec.instance)
        record.update(msgspec.convert(described, Described))
        record.settled.set()

    async def _undo(self, record: Record, host: HostLink) -> None:
        await tree.kill_trees([self._root(record)])
        with contextlib.suppress(AgentPtyError):
            await host.control("forget", session=record.spec.instance)
        await self._release(record)
        await self._pool.dismiss(host.name)

    async def _release(self, record: Record) -> None:
        with contextlib.suppress(AgentPtyError):
            await self._keeping.ask({"do": "release", "session": record.spec.instance})
        # A host that is gone could not remove them.
        shutil.rmtree(self._layout.session(record.spec.instance), ignore_errors=True)

    # -- asking

    async def list(self) -> list[SessionInfo]:
        """Ask every host; what one that does not answer last said is still shown."""
        await asyncio.gather(*(self._refresh(link) for link in self._pool.links))
        return [self.info(record) for record in sorted(self.records, key=lambda r: r.name)]

    async def _refresh(self, link: HostLink) -> None:
        if not link.responsive:
            link.ping()  # not waited for again: when it answers, the next list asks it
            return
        try:
            report = msgspec.convert(await link.control("describe"), HostReport)
        except AgentPtyError:
            return
        by_instance = {record.spec.instance: record for record in self.records}
        for one in report.sessions:
            if one.spec.instance in by_instance:
                self._hear(by_instance[one.spec.instance], one)

    def _hear(self, record: Record, one: Described) -> None:
        known = record.state is State.EXITED
        record.update(one)
        if record.state is State.EXITED and not known:  # there was no keeper to tell
            self.ended(one.spec.instance, one.ending or Ending())

    def info(self, record: Record) -> SessionInfo:
        """Return what is known of a session."""
        link = self._pool.get(record.host)
        info = record.info(self._layout, link.pid if link is not None else None)
        if link is None or link.responsive:
            return info
        return msgspec.structs.replace(info, diagnosis=f"host {link.name} does not answer")

    async def forward(self, name: str, payload: bytes, by: Mapping[str, Any]) -> bytes:
        """Let a session's host answer; one that is being moved is waited for."""
        record = self.find(name)
        link = await self._link(record)
        return await link.request(_header(record, by), payload)

    async def open_stream(self, name: str, payload: bytes, by: Mapping[str, Any]) -> HostStream:
        """Open a stream of a session."""
        record = self.find(name)
        link = await self._link(record)
        return await link.stream(_header(record, by), payload)

    async def _link(self, record: Record) -> HostLink:
        if not record.settled.is_set():  # the rule is that it is, and a timer has its price
            await self._settled(record)
        link = self._pool.get(record.host)
        if link is None:
            why = record.diagnosis or "its host was lost"
            raise HostLost(f"session {record.name} is lost: {why}", id=record.name)
        return link

    async def _settled(self, record: Record) -> None:
        try:
            async with asyncio.timeout(_MOVE_SECONDS):
                await record.settled.wait()
        except TimeoutError:
            raise HostLost(f"session {record.name} has no host yet; ask again") from None

    # -- ending

    async def kill(self, name: str) -> Killed:
        """End a session with its whole tree and forget it; again is no error."""
        if name not in self._records and name in self._killed:
            return Killed(ended=[], survivors=[], exit_code=None, signal=None, already=True)
        record = self.find(name)
        killed = await self._kill(record)
        await self.forget(record)
        self._killed[name] = None
        while len(self._killed) > _KILLED_REMEMBERED:
            self._killed.popitem(last=False)
        return killed

    async def _kill(self, record: Record) -> Killed:
        try:
            link = await self._link(record)
            killed = await link.control("kill", session=record.spec.instance)
            return msgspec.convert(killed, Killed)
        except (HostLost, UnknownSession):
            # Without a host the tree can still be ended; only its exit code is not known.
            killed = await tree.kill_trees([self._root(record)])
            return Killed(
                ended=killed.ended, survivors=killed.survivors, exit_code=None, signal=None
            )

    async def kill_trees(self) -> Sequence[Process]:
        """End every program without asking a host; return what survived."""
        return (await tree.kill_trees([self._root(record) for record in self.records])).survivors

    def _root(self, record: Record) -> tree.Root:
        return self._root_of(record.spec.instance, pid=record.pid, birth=record.birth)

    def _root_of(self, instance: str, *, pid: int | None, birth: float | None) -> tree.Root:
        return tree.Root(
            pid=pid or 0, birth=birth, instance=instance, terminal=None, keeper=self._keeping.pid
        )

    async def discard(self, instance: str, *, pid: int, birth: float | None) -> None:
        """End a program whose session was never recorded."""
        await tree.kill_trees([self._root_of(instance, pid=pid, birth=birth)])
        await self._keeping.ask({"do": "release", "session": instance})

    async def forget(self, record: Record) -> None:
        """Free a session everywhere."""
        # Of two kills at once the second may find a new session of that name.
        if self._records.get(record.name) is record:
            del self._records[record.name]
        link = self._pool.get(record.host)
        if link is not None and link.responsive:  # one that hangs would only be waited for
            with contextlib.suppress(AgentPtyError):
                await link.control("forget", session=record.spec.instance)
        await self._release(record)
        if record.host is not None and record.spec.isolate:
            await self._pool.dismiss(record.host)

    def ended(self, instance: str, ending: Ending) -> None:
        """Note an exit, and forget the oldest exited session if there are too many."""
        if instance in self._unborn:
            self._unborn[instance] = ending
            return
        record = next((r for r in self.records if r.spec.instance == instance), None)
        if record is None:
            return
        record.state, record.ending = State.EXITED, ending
        # Re-inserted: the order of the dictionary is the order in which they exited.
        self._records[record.name] = self._records.pop(record.name)
        exited = [r for r in self.records if r.state is State.EXITED]
        for old in exited[: max(0, len(exited) - _EXITED_KEPT)]:
            # Each look at the process table has its price: one at a time, none for a farewell.
            if old.spec.instance not in self._evictions and not self._pool.retired:
                self._evict_soon(old)

    def _evict_soon(self, record: Record) -> None:
        instance = record.spec.instance
        task = asyncio.get_running_loop().create_task(self._evict(record))
        self._evictions[instance] = task
        task.add_done_callback(lambda _: self._evictions.pop(instance))

    async def _evict(self, record: Record) -> None:
        """Forget an exited session, unless something it left in the background still runs."""
        link = self._pool.get(record.host)
        with contextlib.suppress(AgentPtyError):
            if link is None or not await link.control("members", session=record.spec.instance):
                await self.forget(record)

    async def rename(self, name: str, new_name: str) -> SessionInfo:
        """Change a name; the instance and its files stay."""
        record = self.find(name)
        new_name = self._reserve(new_name)
        try:
            link = await self._link(record)
            await link.control("rename", session=record.spec.instance, name=new_name)
            record.spec = msgspec.structs.replace(record.spec, name=new_name)
            self._records[new_name] = self._records.pop(name)
        finally:
            self._reserved.discard(new_name)
        return self.info(record)


def _header(record: Record, by: Mapping[str, Any]) -> dict[str, Any]:
    return {"session": record.spec.instance, "name": record.name, "caller": dict(by)}


def _directory(given: str) -> str:
    path = expanded(given, os.environ)
    if not path.startswith("/"):
        raise BadRequest(f"repo {given!r} is not an absolute path", field="repo")
    return path


def _now() -> str:
    now = dt.datetime.now(dt.UTC)
    return now.isoformat(timespec="microseconds").replace("+00:00", "Z")
