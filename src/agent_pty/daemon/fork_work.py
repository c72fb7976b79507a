"""What became of forks: which there are, how two compare, how one is merged or removed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from agent_pty import log
from agent_pty.core.evidence.cell_outcomes import CellOutcome, cell_outcomes
from agent_pty.core.evidence.event import Notify
from agent_pty.core.fork import ForkCopy, MergedWork
from agent_pty.core.layout import Layout
from agent_pty.daemon.forking import Create, Forking, Kill
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.errors import (
    AgentPtyError,
    BadRequest,
    ForkFailed,
    ForkInUse,
    MergeConflict,
    UnknownFork,
    UnmergedWork,
)
from agent_pty.host import message
from agent_pty.ops.fork import Fork, Forked
from agent_pty.ops.fork_diff import Attempt, ComparedFile, ForkCompared, ForkDiff
from agent_pty.ops.fork_merge import MOST_DIFF, ChangedFile, ForkMerge, ForkMerged
from agent_pty.ops.forks import ForkInfo, ForkRemove, ForkRemoved
from agent_pty.ops.model import State
from agent_pty.ops.op import LARGEST_PAGE
from agent_pty.process import fork_copy, fork_state
from agent_pty.process.fork_state import DoesNotApply, Work
from agent_pty.process.git_tree import Change
from agent_pty.process.git_work_tree import WorkTree
from agent_pty.store import journal_files
from agent_pty.store.forks import ForkRecord, Forks
from agent_pty.store.journal_reader import page

_MOST_CELLS = 100
_MOST_NAMED = 5
_NESTED = "a repository of its own: merge what was done there by hand"

StateName = Literal["running", "exited", "lost", "gone"]


class ForkWork:
    """Looks at forks, merges and removes them."""

    def __init__(
        self,
        layout: Layout,
        registry: Registry,
        create: Create,
        kill: Kill,
        caller: Callable[[], message.Caller],
    ) -> None:
        self._layout = layout
        self._registry = registry
        self._store = Forks(layout.forks, layout.aside)
        self._forking = Forking(layout, registry, self._store, create=create, kill=kill)
        self._kill = kill
        self._caller = caller

    @property
    def forking(self) -> Forking:
        """Makes them."""
        return self._forking

    async def fork(self, asked: Fork) -> Forked:
        """Continue a session in others."""
        return await self._forking.fork(asked, self._caller())

    # -- which there are

    async def listed(self) -> list[ForkInfo]:
        """Look at every fork."""
        records = [one for one in self._store.all() if one.state == "made"]
        shown = [one for one in records if one.copy is not None or self._session(one) is not None]
        return list(await asyncio.gather(*(self._info(one) for one in shown)))

    async def _info(self, record: ForkRecord) -> ForkInfo:
        work, problem = None, None
        try:
            if record.copy is not None:
                work = await self._work(record.copy, record.last_merge)
        except ForkFailed as error:
            problem = str(error)
        session = self._session(record)
        return ForkInfo(
            id=record.name,
            source_id=record.source,
            workspace=record.workspace,
            branch=None if record.copy is None else record.copy.branch,
            kind=None if record.copy is None else record.copy.kind,
            state=_state(session),
            changed_files=None if work is None else len(work.changes) + len(work.nested),
            commits=None if work is None else work.commits,
            merged=work is not None and _is_merged(record, work),
            instance=record.instance,
            made_at=record.made_at,
            left_out=[] if record.copy is None else record.copy.left_out,
            problem=problem,
        )

    async def _work(
        self,
        copy: ForkCopy,
        last_merge: MergedWork | None,
        *,
        wants_patch: bool = False,
        keeps: bool = False,
    ) -> Work:
        def look() -> Work:
            given = fork_copy.git_means(self._layout.looks)
            return fork_state.work_of(
                copy, given, last_merge=last_merge, wants_patch=wants_patch, keeps=keeps
            )

        return await self._forking.aside(look)

    def _session(self, record: ForkRecord) -> Record | None:
        return next(
            (one for one in self._registry.records if one.instance == record.instance), None
        )

    def _find(self, name: str) -> ForkRecord:
        record = self._store.find(name)
        if record is None or record.state != "made":
            raise UnknownFork(name)
        return record

    def _copied(self, name: str) -> tuple[ForkRecord, ForkCopy]:
        record = self._find(name)
        if record.copy is None:
            raise BadRequest(f"{name} works in the directory of its source: it has no copy")
        return record, record.copy

    # -- remove

    async def remove(self, asked: ForkRemove) -> ForkRemoved:
        """Remove a fork, unless something would be lost."""
        async with self._forking.names.held(asked.id):
            return await self._remove(asked)

    async def _remove(self, asked: ForkRemove) -> ForkRemoved:
        record = self._find(asked.id)
        session = self._session(record)
        if session is not None and session.state is State.RUNNING and not asked.force:
            raise ForkInUse(
                f"session {session.name} still runs in fork {asked.id}: end it with "
                f"agent-pty kill {session.name}, or use --force",
                id=asked.id,
            )
        work = None
        if record.copy is not None:
            work = await self._checked(record, record.copy, force=asked.force)
        if session is not None:
            await self._kill(session.name)
        if record.copy is not None:
            given = await self._forking.aside(fork_copy.git_means, self._layout.looks)
            await self._forking.aside(fork_copy.remove_copy, record.name, record.copy, given)
        self._store.remove(record.name)
        return ForkRemoved(
            id=record.name,
            source_id=record.source,
            workspace=record.workspace,
            branch=None if record.copy is None else record.copy.branch,
            lost_files=None if work is None else len(work.changes) + len(work.nested),
            lost_commits=None if work is None else work.commits,
        )

    async def _checked(self, record: ForkRecord, copy: ForkCopy, *, force: bool) -> Work | None:
        """Return what a fork has of its own; refuse if that is nowhere else."""
        try:
            work = await self._work(copy, record.last_merge)
        except ForkFailed:
            if not force:
                raise
            return None
        merged = _is_merged(record, work) and not work.nested
        if not work.any or merged or force:
            return None if merged else work
        names = [*(_text(one.path) for one in work.changes), *work.nested]
        shown = ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
        raise UnmergedWork(
            f"fork {record.name} has work that is nowhere else: {len(names)} file(s) ({shown}), "
            f"{work.commits} commit(s): use fork-merge or commit and merge it, or --force",
            id=record.name,
            files=len(names),
            commits=work.commits,
        )

    # -- merge

    async def merge(self, asked: ForkMerge) -> ForkMerged:
        """Bring the work of a fork into its source."""
        async with self._forking.names.held(asked.id):
            return await self._merge(asked)

    async def _merge(self, asked: ForkMerge) -> ForkMerged:
        record, copy = self._copied(asked.id)
        # What is merged is kept first: if there is no room for it, nothing is changed.
        work = await self._work(copy, record.last_merge, wants_patch=True, keeps=not asked.dry_run)
        if asked.tree is not None and asked.tree != work.tree:
            raise MergeConflict(f"fork {asked.id} has changed since it was shown: look again")
        wants = bool(work.changes) and not asked.dry_run
        if work.changes:
            try:
                await self._forking.aside(self._apply, copy, work.patch, check=not wants)
            except DoesNotApply as error:
                raise MergeConflict(
                    f"fork {asked.id} does not fit into {copy.root}, nothing was changed: {error}",
                    id=asked.id,
                ) from error
        if wants:
            merged = MergedWork(tree=work.tree, commit=work.tip)
            self._store.write(msgspec.structs.replace(record, last_merge=merged))
            await self._note(record, f"merged fork {record.name}: {len(work.changes)} file(s)")
        return ForkMerged(
            id=record.name,
            source_id=record.source,
            into=copy.root,
            applied=wants,
            files=_files(work.changes),
            diff=work.patch[:MOST_DIFF].decode(errors="replace"),
            diff_bytes=len(work.patch),
            left_out=[f"{path}: {_NESTED}" for path in work.nested],
            tree=work.tree,
        )

    def _apply(self, copy: ForkCopy, patch: bytes, *, check: bool) -> None:
        given = fork_copy.git_means(self._layout.looks)
        fork_state.apply_to_source(copy, patch, given, check=check)

    async def _note(self, fork: ForkRecord, text: str) -> None:
        """Record it with the source, if that is still there."""
        by = self._caller()
        action = Notify(who="fork-merge", message=text)
        for record in self._registry.records:
            if record.instance == fork.source_instance:
                try:
                    link = await self._registry.link(record)
                    await link.control(
                        message.NoteEvent(instance=record.instance, caller=by, action=action)
                    )
                except AgentPtyError as error:
                    log.line(f"daemon: {text}: it is not in {record.name}'s journal: {error}")

    # -- compare

    async def diff(self, asked: ForkDiff) -> ForkCompared:
        """Compare two attempts."""
        one, other = self._side(asked.id, asked.other), self._side(asked.other, asked.id)
        mine, theirs, between = await self._forking.aside(self._compare, one, other)
        return ForkCompared(
            one=await self._attempt(asked.id, mine),
            other=await self._attempt(asked.other, theirs),
            files=_compared(mine, theirs, {change.path for change in between}),
        )

    def _side(self, name: str, other: str) -> tuple[ForkCopy, bool]:
        """Return the copy to compare by; True: this side is its source."""
        record = self._store.find(name)
        if record is not None and record.copy is not None:
            return record.copy, False
        against, copy = self._copied(other)
        if against.source != name:
            raise BadRequest(f"{name} is neither a fork with a copy nor the source of {other}")
        return copy, True

    def _compare(
        self, one: tuple[ForkCopy, bool], other: tuple[ForkCopy, bool]
    ) -> tuple[list[Change], list[Change], list[Change]]:
        given = fork_copy.git_means(self._layout.looks)
        ignore = one[0].kind == "worktree"
        return fork_state.compared(
            (_tree(*one), one[0].base, one[0].store),
            (_tree(*other), other[0].base, other[0].store),
            given,
            ignore=ignore,
        )

    async def _attempt(self, name: str, changed: list[Change]) -> Attempt:
        record = self._store.find(name)
        sessions = self._registry.records
        if record is not None:
            session = self._session(record)
        else:
            session = next((one for one in sessions if one.name == name), None)
        instance = record.instance if record is not None else getattr(session, "instance", None)
        info = None if session is None else self._registry.info(session)
        return Attempt(
            id=name,
            workspace=record.workspace if record is not None else (info.workspace if info else ""),
            branch=None if record is None or record.copy is None else record.copy.branch,
            state=_state(session),
            exit_code=None if info is None else info.exit_code,
            changes=_files(changed),
            cells=await asyncio.to_thread(self._cells, name, instance),
        )

    def _cells(self, name: str, instance: str | None) -> list[CellOutcome]:
        path = journal_files.find(self._layout.log_dir, name, instance)
        return [] if path is None else cell_outcomes(_lines(path))[-_MOST_CELLS:]


def _lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a journal, page by page."""
    after = 0
    while found := page(path, after=after, most_bytes=LARGEST_PAGE):
        yield from found
        after += len(found)


def _state(session: Record | None) -> StateName:
    if session is None:
        return "gone"
    states: dict[State, StateName] = {State.RUNNING: "running", State.EXITED: "exited"}
    return states.get(session.state, "lost")


def _is_merged(record: ForkRecord, work: Work) -> bool:
    return record.last_merge is not None and record.last_merge.tree == work.tree


def _tree(copy: ForkCopy, is_source: bool) -> WorkTree:  # noqa: FBT001  a pair, taken apart
    return fork_state.source_tree(copy) if is_source else fork_state.fork_tree(copy)


def _files(changed: list[Change]) -> list[ChangedFile]:
    return [
        ChangedFile(path=_text(one.path), status=one.status, added=one.added, removed=one.removed)
        for one in changed
    ]


def _compared(mine: list[Change], theirs: list[Change], differ: set[str]) -> list[ComparedFile]:
    ours, others = ({one.path: one.status for one in side} for side in (mine, theirs))
    return [
        ComparedFile(
            path=_text(path),
            status=ours.get(path),
            other_status=others.get(path),
            same=path not in differ,
        )
        for path in sorted(ours.keys() | others.keys())
    ]


def _text(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
