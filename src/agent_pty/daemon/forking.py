"""How a fork begins: the work of a session is copied, and another session starts in the copy."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from agent_pty import log
from agent_pty.core import name as names
from agent_pty.core.evidence.event import Fork as ForkEvent
from agent_pty.core.fork import ForkCopy, fork_directory, fork_names, moved
from agent_pty.core.layout import Layout
from agent_pty.daemon.fork_start import Inherited, check_argv, inherited, started_like
from agent_pty.daemon.lost_sessions import now
from agent_pty.daemon.name_locks import NameLocks
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.errors import AgentPtyError, ForkFailed, SessionEnded, SessionExists
from agent_pty.host import message
from agent_pty.ops.fork import Fork, Forked, ForkMade
from agent_pty.ops.model import Killed, SessionInfo, State, Wanted
from agent_pty.process import fork_copy
from agent_pty.process.fork_copy import CannotFork, Source
from agent_pty.store.forks import VERSION, ForkRecord, Forks

# Copies are made in threads of their own: other work of the daemon has its own threads.
_THREADS = 4

T = TypeVar("T")
Create = Callable[[Wanted], Awaitable[SessionInfo]]
Kill = Callable[[str], Awaitable[Killed]]


class Forking:
    """Makes forks; if any step fails, nothing of it is left."""

    def __init__(
        self, layout: Layout, registry: Registry, store: Forks, *, create: Create, kill: Kill
    ) -> None:
        self._layout = layout
        self._registry = registry
        self._store = store
        self._create = create
        self._kill = kill
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="fork")
        # Record and kept objects of a fork are found by its name. So one request at a time works
        # on a name, from the first check to the answer. A name is always taken before a turn.
        self.names = NameLocks()
        # Forks of one directory are made one after the other.
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def aside(self, work: Callable[..., T], *given: object, **named: object) -> T:
        """Run work with files and git in a thread; what prevents it is a `ForkFailed`."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, lambda: work(*given, **named))
        except CannotFork as error:
            raise ForkFailed(str(error)) from error

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def remove_unfinished(self) -> None:
        """Remove what is left of copies that a daemon before us had begun."""
        for name in [one.name for one in self._store.all() if one.state == "making"]:
            async with self.names.held(name):
                await self._remove_unfinished(name)

    async def _remove_unfinished(self, name: str) -> None:
        record = self._store.find(name)
        if record is None or record.state != "making":  # it was a fork of this daemon
            return
        log.line(f"daemon: fork {name} was not finished, it is removed")
        try:
            await self.aside(self._undo, record)
        except (AgentPtyError, OSError) as error:
            log.line(f"daemon: fork {name} cannot be removed: {error}")

    async def fork(self, asked: Fork, by: message.Caller) -> Forked:
        """Make as many forks as were asked for, or none."""
        wanted = fork_names(asked.name, asked.count)
        async with self.names.held(*wanted):
            return await self._fork_all(asked, wanted, by)

    async def _fork_all(self, asked: Fork, wanted: Sequence[str], by: message.Caller) -> Forked:
        source = self._running(asked.id)
        check_argv(source.spec)
        for name in wanted:
            self._check_name(name)
        await self._registry.glance()  # for the size that the terminal has now
        exports = await self._exports(source)
        inherits = await self.aside(inherited, source.spec, source.pid, exports)
        origin = await self.aside(self._origin, source, wanted) if asked.copy_worktree else None
        made: list[ForkMade] = []
        try:
            for name in wanted:
                made += [await self._fork(source, name, origin, inherits, by)]
        except BaseException:
            await self._remove_made(made)
            raise
        return Forked(**msgspec.structs.asdict(made[0]), forks=made)

    async def _exports(self, source: Record) -> list[bytes] | None:
        """Ask the shell of the source what it exports; None: it cannot be asked now."""
        try:
            link = await self._registry.link(source)
            return await link.control(message.AskExports(instance=source.instance))
        except AgentPtyError as error:
            log.line(f"daemon: {source.name} does not say what it exports: {error}")
            return None

    def _running(self, name: str) -> Record:
        record = self._registry.find(name)
        if record.state is State.EXITED:
            raise SessionEnded(f"session {name} has ended: only one that runs can be forked")
        return record

    def _check_name(self, name: str) -> None:
        names.usable(name)
        if self._registry.uses(name):
            raise SessionExists(name)
        record = self._store.find(name)
        if record is not None and record.copy is not None:
            raise ForkFailed(
                f"a fork {name} is still there, at {record.workspace}: remove it with "
                f"agent-pty fork-remove {name}, or choose another name"
            )

    def _origin(self, source: Record, wanted: Sequence[str]) -> Source:
        """Find what is copied, and see that every copy can be made."""
        found = fork_copy.find_source(source.spec.workspace)
        given = fork_copy.git_means(self._layout.looks)
        for name in wanted:
            fork_copy.check_free(found, name, given)
        return found

    async def _fork(
        self,
        source: Record,
        name: str,
        origin: Source | None,
        inherits: Inherited,
        by: message.Caller,
    ) -> ForkMade:
        copy = None
        if origin is not None:
            async with self._turns[origin.root]:
                copy = await self.aside(self._copy, source, name, origin)
        cwd = inherits.cwd if copy is None else _place(inherits.cwd, source, copy)
        workspace = source.spec.workspace if copy is None else _workspace(source, copy)
        created: SessionInfo | None = None
        try:
            created = await self._create(started_like(source.spec, inherits, name=name, cwd=cwd))
            self._store.write(self._made(source, created, copy, workspace))
        except BaseException:
            if created is not None:  # there was no room to remember it
                await self._kill(created.id)
            if copy is not None:
                await self.aside(self._undo, self._begun(source, name, copy))
            raise
        await self._note(source, created, workspace, by)
        return ForkMade(
            id=created.id,
            source_id=source.name,
            workspace=workspace,
            branch=None if copy is None else copy.branch,
            instance=created.instance,
            pid=created.pid,
            cwd=cwd,
            kind=None if copy is None else copy.kind,
            environment=inherits.environment_is,
            left_out=[] if copy is None else copy.left_out,
        )

    # -- in a thread

    def _copy(self, source: Record, name: str, origin: Source) -> ForkCopy:
        planned = ForkCopy(
            kind="copy" if origin.tree is None else "worktree",
            root=origin.root,
            directory=fork_directory(origin.root, name),
            branch=None,
            commit=None,
            base="",
            repository="" if origin.tree is None else origin.tree.common_directory,
            store=self._store.kept(name),
            admin="",
            nested=[],
            left_out=[],
        )
        given = fork_copy.git_means(self._layout.looks)
        fork_copy.check_free(origin, name, given)
        self._store.write(self._begun(source, name, planned))
        try:
            made = fork_copy.make_copy(origin, name, given, store=self._store.kept(name))
        except BaseException:
            self._store.remove(name)
            raise
        return made

    def _undo(self, record: ForkRecord) -> None:
        if record.copy is not None:
            fork_copy.remove_copy(record.name, record.copy, fork_copy.git_means(self._layout.looks))
        self._store.remove(record.name)

    # -- what is remembered of it

    def _begun(self, source: Record, name: str, copy: ForkCopy) -> ForkRecord:
        return ForkRecord(
            version=VERSION,
            name=name,
            source=source.name,
            source_instance=source.instance,
            instance=None,
            workspace=copy.directory,
            made_at=now(),
            state="making",
            copy=copy,
        )

    def _made(
        self, source: Record, created: SessionInfo, copy: ForkCopy | None, workspace: str
    ) -> ForkRecord:
        return ForkRecord(
            version=VERSION,
            name=created.id,
            source=source.name,
            source_instance=source.instance,
            instance=created.instance,
            workspace=workspace,
            made_at=now(),
            state="made",
            copy=copy,
        )

    async def _note(
        self, source: Record, created: SessionInfo, workspace: str, by: message.Caller
    ) -> None:
        """Record the fork in both journals; it is made, so nothing prevents it any more."""
        event = ForkEvent(source=source.name, target=created.id, workspace=workspace)
        for record in (source, self._registry.find(created.id)):
            try:
                link = await self._registry.link(record)
                await link.control(
                    message.NoteEvent(instance=record.instance, caller=by, action=event)
                )
            except AgentPtyError as error:
                log.line(
                    f"daemon: the fork {created.id} is not in {record.name}'s journal: {error}"
                )

    async def _remove_made(self, made: Sequence[ForkMade]) -> None:
        for one in made:
            await self._kill(one.id)
            record = self._store.find(one.id)
            if record is not None:
                await self.aside(self._undo, record)


def _place(cwd: str, source: Record, copy: ForkCopy) -> str:
    """Return the source's directory in the copy, or the nearest one that is there.

    A directory outside of what was copied has no place in it.
    """
    found = moved(os.path.realpath(cwd), old=copy.root, new=copy.directory)
    place = found if found is not None else _workspace(source, copy)
    while not os.path.isdir(place) and place != copy.directory:
        place = os.path.dirname(place)
    return place


def _workspace(source: Record, copy: ForkCopy) -> str:
    """Return what the workspace of the source is in the copy."""
    found = moved(os.path.realpath(source.spec.workspace), old=copy.root, new=copy.directory)
    return found if found is not None and os.path.isdir(found) else copy.directory
