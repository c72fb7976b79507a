"""How a session ends: its process tree is killed, and everything of it is freed."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Sequence
from typing import Protocol

import msgspec

from agent_pty.core.evidence import event as evidence
from agent_pty.core.layout import Layout
from agent_pty.daemon import orphan_journal
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.daemon.lost_sessions import now
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.tmux_panes import TmuxPanes
from agent_pty.errors import AgentPtyError, BadRequest, HostLost, UnknownSession
from agent_pty.host.message import CountMembers, Forget, Kill
from agent_pty.keeper.message import Release
from agent_pty.ops.model import Ending, Killed, Process, State, Stopped
from agent_pty.process import below_keeper, tree

_EXITED_KEPT = 25


class Past(Protocol):
    """Whoever keeps what is known of sessions that are forgotten here."""

    def ending(self, record: Record) -> None:
        """The session is about to be forgotten."""

    def ended(self, record: Record) -> None:
        """Nothing of the session is left, and nobody writes its journal any more."""


class Ender:
    """Kills sessions, and forgets the oldest of those that have exited."""

    def __init__(
        self,
        layout: Layout,
        keeper: KeeperClient,
        pool: Pool,
        registry: Registry,
        past: Past,
        *,
        panes: TmuxPanes,
    ) -> None:
        self._layout = layout
        self._keeper = keeper
        self._pool = pool
        self._registry = registry
        self._past = past
        self._panes = panes
        self._evictions: dict[str, asyncio.Task[None]] = {}

    async def kill(self, name: str) -> Killed:
        """End a session with its whole tree and forget it; a second kill is no error."""
        if self._registry.was_killed(name):
            return Killed(ended=[], survivors=[], exit_code=None, signal=None, already=True)
        record = self._registry.find(name)
        place = record.spec.tmux
        if place is not None and place.adopted and record.stays_in_tmux:
            raise BadRequest(
                f"session {name} was adopted from tmux: `agent-pty release {name}` gives it back, "
                "and only its owner ends it there",
                field="id",
            )
        killed = await self._kill(record)
        killed = msgspec.structs.replace(killed, possible_survivors=self._possible_survivors())
        if record.state is State.RUNNING:  # the keeper's report has not come yet
            record.exit(Ending(code=killed.exit_code, signal=killed.signal), at=now())
        await self.forget(record)
        self._registry.remember_killed(name)
        return killed

    async def _kill(self, record: Record) -> Killed:
        if record.spec.tmux is not None and record.spec.tmux.adopted:
            # Its pane is gone. What is left of its program is the person's who started it.
            return Killed(ended=[], survivors=[], exit_code=None, signal=None)
        try:
            link = await self._registry.link(record)
            return await link.control(Kill(instance=record.instance))
        except (HostLost, UnknownSession):
            # Without a host the tree can still be ended; only its exit code is not known.
            orphan_journal.note(self._layout, record, evidence.Kill())
            return (await self.end_tree(record)).answer(Ending())

    def _possible_survivors(self) -> list[Process]:
        """Return what no session is known to have started: perhaps this one did."""
        if self._keeper.pid is None:
            return []
        programs = [record.pid for record in self._registry.records]
        return below_keeper.unattributed(
            self._keeper.pid, self._layout.home, programs, self._registry.instances
        )

    async def end_tree(self, record: Record) -> tree.KilledTrees:
        """End a session's processes without asking its host."""
        return await tree.kill_trees([self._root(record)])

    async def sweep(self, records: Sequence[Record]) -> tree.KilledTrees:
        """End what outlived sessions that are lost for good."""
        return await tree.sweep([self._root(record) for record in records])

    async def end_everything(self) -> Stopped:
        """End every session's processes without asking a host, and all else below the keeper."""
        staying = [record for record in self._registry.records if record.spec.tmux is not None]
        roots = [self._root(one) for one in self._registry.records if one not in staying]
        trees = await tree.kill_trees(roots)
        if self._keeper.pid is None:
            return Stopped(survivors=trees.survivors, spared=trees.spared)
        rest = await below_keeper.end_everything(
            self._keeper.pid,
            self._layout.home,
            self._registry.instances,
            staying={record.instance for record in staying},
        )
        spared = {one.pid: one for one in [*trees.spared, *rest.spared] if not self._is_ours(one)}
        survivors = {one.pid: one for one in [*trees.survivors, *rest.survivors]}
        return Stopped(survivors=list(survivors.values()), spared=list(spared.values()))

    def _is_ours(self, process: Process) -> bool:
        """Whether this is the tmux server of this home, which stays as its sessions do."""
        return f"-S {self._layout.tmux_socket} " in f"{process.command} "

    def _root(self, record: Record) -> tree.Root:
        return self._root_of(record.instance, pid=record.pid, birth=record.birth)

    def _root_of(self, instance: str, *, pid: int | None, birth: float | None) -> tree.Root:
        return tree.Root(
            pid=pid or 0, birth=birth, instance=instance, terminal=None, keeper=self._keeper.pid
        )

    async def discard(self, instance: str, *, pid: int, birth: float | None) -> None:
        """End a program whose session was never recorded."""
        await tree.kill_trees([self._root_of(instance, pid=pid, birth=birth)])
        await self._keeper.ask(Release(instance=instance))

    async def release(self, instance: str) -> None:
        """Free what keeper and disk have of a session."""
        with contextlib.suppress(AgentPtyError):
            await self._keeper.ask(Release(instance=instance))
        # A host that is gone could not remove them.
        shutil.rmtree(self._layout.session(instance), ignore_errors=True)

    async def forget(self, record: Record) -> None:
        """Free a session everywhere; what is known of it is noted first."""
        if self._registry.has(record):
            self._past.ending(record)
        self._registry.remove(record)
        link = self._pool.get(record.host)
        if link is not None and link.responsive:  # one that hangs would only be waited for
            with contextlib.suppress(AgentPtyError):
                await link.control(Forget(instance=record.instance))
        await self.release(record.instance)
        await self._panes.remove(record.spec)
        self._past.ended(record)
        if record.host is not None and not self._registry.load(record.host):
            await self._pool.dismiss(record.host)

    def forget_oldest(self) -> None:
        """Forget the sessions that exited first, if too many have exited."""
        exited = [r for r in self._registry.records if r.state is State.EXITED]
        for old in exited[: max(0, len(exited) - _EXITED_KEPT)]:
            # A reading of the process table takes time: one each, and none while we stop.
            if old.instance not in self._evictions and not self._pool.retired:
                self._evict_soon(old)

    def _evict_soon(self, record: Record) -> None:
        instance = record.instance
        task = asyncio.get_running_loop().create_task(self._evict(record))
        self._evictions[instance] = task
        task.add_done_callback(lambda _: self._evictions.pop(instance))

    async def _evict(self, record: Record) -> None:
        """Forget an exited session, unless something it left in the background still runs."""
        link = self._pool.get(record.host)
        with contextlib.suppress(AgentPtyError):
            if link is None or not await link.control(CountMembers(instance=record.instance)):
                await self.forget(record)
