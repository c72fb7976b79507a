"""The processes of a session: found wherever they are, signalled by handle, ended.

A process belongs to a session if it descends from its program or shares its kernel session, or if,
having left both by `setsid` and a double fork, it still carries a mark: in its limits
(`core/process_mark.py`), in its environment, or the session's terminal among its files.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_pty.core.process_mark import process_mark
from agent_pty.ops.model import Ending, Killed, Process
from agent_pty.process import chain, spared, table
from agent_pty.process.table import Entry

INSTANCE_VARIABLE = "AGENT_PTY_INSTANCE"
_GRACE = 0.25
_DEADLINE = 3.0
_MOST_FREEZES = 20
# So many readings in a row must find nothing: one of them can miss a process that just forks.
_EMPTY_READINGS = 2
_INIT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A session's program, and the marks its descendants carry."""

    pid: int
    birth: float | None
    instance: str
    terminal: str | None
    keeper: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledTrees:
    """Which processes were ended, which are still there, and which were spared."""

    ended: list[Process]
    survivors: list[Process]
    spared: list[Process]

    def answer(self, ending: Ending) -> Killed:
        """Return what is said of it, with how the program ended."""
        return Killed(
            ended=self.ended,
            survivors=self.survivors,
            exit_code=ending.code,
            signal=ending.signal,
            spared=self.spared,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A reading of the process table: what is to be ended, and what is never ended."""

    members: list[Entry]
    spared: list[Entry]


class Scope(Protocol):
    """Which processes are to be ended."""

    @property
    def keeper(self) -> int | None:
        """The process that adopts their orphans; None if that is not a keeper of ours."""

    def read(self) -> Found:
        """Read the process table once."""

    def owns(self, orphan: Entry) -> bool:
        """Whether a child of the keeper is to be ended."""


class SessionScope:
    """The processes of some sessions. Orphans are looked for below the keeper, or *everywhere*."""

    def __init__(self, roots: Sequence[Root], *, everywhere: bool = False) -> None:
        self._roots = roots
        self._everywhere = everywhere
        self._marks = {process_mark(root.instance) for root in roots}
        self._variables = {f"{INSTANCE_VARIABLE}={root.instance}".encode() for root in roots}

    @property
    def keeper(self) -> int | None:
        """The keeper of the sessions, if it is still the process it was."""
        keeper = next((root.keeper for root in self._roots if root.keeper is not None), None)
        found = table.entry(keeper) if keeper is not None else None
        return keeper if found is not None and found.name == spared.KEEPER else None

    def read(self) -> Found:
        """Return every living process of these sessions."""
        entries = table.snapshot()
        # Pid 0 is that of sessions whose leader is outside of this container.
        own = {root.pid for root in self._roots if root.pid and _unreplaced(root, entries)}
        start = [entries[pid] for pid in own if pid in entries]
        start += [e for e in entries.values() if e.session in own and self._is_of(e, entries)]
        reapers = {_INIT, *(root.keeper for root in self._roots)}
        # Who has adopted the program also gets the orphans: another one if its keeper has died.
        reapers |= {entries[pid].ppid for pid in own if pid in entries}
        living = [e for e in entries.values() if e.alive]
        orphans = [e for e in living if self._everywhere or e.ppid in reapers]
        marked = [e for e in orphans if self._marked(e)]
        if self._everywhere:
            marked = _not_below_spared(marked, entries)
        return with_descendants([*start, *marked], entries)

    def _is_of(self, found: Entry, entries: dict[int, Entry]) -> bool:
        """Whether a process with a program's kernel session is from that session of ours.

        When all of them are gone, the number may become that of somebody else's kernel session.
        """
        return found.session in entries or sys.platform != "linux" or self._marked(found)

    def owns(self, orphan: Entry) -> bool:
        """Whether a child of the keeper is from one of these sessions, and is not spared."""
        return self._marked(orphan) and not spared.is_spared(orphan)

    def _marked(self, orphan: Entry) -> bool:
        """Whether a process carries a mark of one of these sessions."""
        mark = table.mark(orphan.pid)
        if mark is not None and mark not in self._marks:
            return False  # of another session
        environment = table.environment(orphan.pid)
        ours = mark is not None or not self._variables.isdisjoint(environment)
        return (ours or self._has_terminal(orphan)) and not spared.runs_in_tmux(environment)

    def _has_terminal(self, orphan: Entry) -> bool:
        # Only orphans of sessions have the keeper as parent: a stranger may use the terminal too.
        roots = [root for root in self._roots if root.keeper == orphan.ppid]
        terminals = {root.terminal for root in roots if root.terminal}
        return bool(terminals) and not terminals.isdisjoint(table.open_files(orphan.pid))


def _not_below_spared(marked: list[Entry], entries: dict[int, Entry]) -> list[Entry]:
    """Leave out what a process runs that was started in a session and is spared."""
    kept = {entry.pid for entry in marked if spared.is_spared(entry)}
    parents = {pid: entry.ppid for pid, entry in entries.items()}

    def is_below(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid]
            if pid in kept:
                return True
        return False

    return [entry for entry in marked if not is_below(entry.pid)]


def members(roots: Sequence[Root]) -> list[Entry]:
    """Return every living process of these sessions, from one reading of the process table."""
    return SessionScope(roots).read().members


def _unreplaced(root: Root, entries: dict[int, Entry]) -> bool:
    """Whether the pid still names the session: it is not reused while the session has members."""
    found = entries.get(root.pid)
    return found is None or root.birth in (None, found.birth)


def with_descendants(
    start: Iterable[Entry],
    entries: dict[int, Entry],
    *,
    kept: Callable[[Entry], bool] = spared.is_spared,
) -> Found:
    """Return living processes with all their descendants, but not what is *kept* and below it."""
    children: dict[int, list[Entry]] = {}
    for entry in entries.values():
        children.setdefault(entry.ppid, []).append(entry)
    found: dict[int, Entry] = {}
    left: dict[int, Entry] = {}
    todo = list(start)
    while todo:
        entry = todo.pop()
        if entry.pid in found or entry.pid in left or entry.pid == os.getpid():
            continue
        if kept(entry):
            left[entry.pid] = entry
            continue
        found[entry.pid] = entry
        todo += children.get(entry.pid, [])
    return Found(members=[e for e in found.values() if e.alive], spared=list(left.values()))


def send(target: Entry, number: int) -> bool:
    """Signal exactly this process, never a later one with its pid; False if it is gone."""
    try:
        handle = _open(target)
    except OSError:
        return False
    try:
        if handle is None:
            os.kill(target.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    else:
        return True
    finally:
        if handle is not None:
            os.close(handle)


def _open(target: Entry) -> int | None:
    """Return a handle on exactly *target*; None where the system has no handles (macOS)."""
    handle = os.pidfd_open(target.pid) if hasattr(os, "pidfd_open") else None
    now = table.entry(target.pid)
    if now is None or now.birth != target.birth:
        if handle is not None:
            os.close(handle)
        raise ProcessLookupError(target.pid)
    return handle


async def kill_trees(roots: Sequence[Root]) -> KilledTrees:
    """End sessions with everything that they started."""
    return await end(SessionScope(roots))


async def sweep(roots: Sequence[Root]) -> KilledTrees:
    """End sessions whose keeper is gone: their orphans may have any parent."""
    return await end(SessionScope(roots, everywhere=True))


async def end(scope: Scope) -> KilledTrees:
    """End whole trees: ask, wait a little, then freeze and kill until nothing is left."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _DEADLINE
    found = scope.read()
    passed = set(table.children(scope.keeper)) if scope.keeper is not None else set()
    # Described now: a process that has ended has no command line.
    seen = {(e.pid, e.birth): table.described(e) for e in found.members}
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGCONT):
        for target in found.members:
            send(target, number)
    await wait_gone(found.members, _GRACE)
    _kill_groups(found)
    empty = 0
    while empty < _EMPTY_READINGS and loop.time() < deadline:
        found = _freeze(scope, passed)
        left = {(e.pid, e.birth): e for e in found.members}
        seen |= {key: table.described(e) for key, e in left.items() if key not in seen}
        for target in found.members:
            send(target, signal.SIGKILL)
        _kill_groups(found)
        await wait_gone(found.members, min(_GRACE, max(0.0, deadline - loop.time())))
        empty = 0 if left else empty + 1
    # While processes still come and go, the last ones that were seen stand for their successors.
    survivors = (scope.read().members or found.members) if empty < _EMPTY_READINGS else []
    alive = {(e.pid, e.birth) for e in survivors}
    return KilledTrees(
        ended=[process for key, process in seen.items() if key not in alive],
        survivors=[seen.get((e.pid, e.birth)) or table.described(e) for e in survivors],
        spared=[table.described(e) for e in found.spared],
    )


def _kill_groups(found: Found) -> None:
    """Kill what is left in the groups of processes that were ours a moment ago.

    A process that forks and exits, again and again, is gone before a reading of the table is
    acted upon; the kernel signals a group at once, and a fork waits for that.
    """
    kept = {os.getpgrp(), *(entry.group for entry in found.spared)}
    for group in {target.group for target in found.members} - kept:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)


def _freeze(scope: Scope, passed: set[int]) -> Found:
    """Stop every member before one is killed: a stopped process forks no successor."""
    frozen: dict[int, Entry] = {}
    for _ in range(_MOST_FREEZES):
        found = scope.read()
        fresh = [e for e in found.members if e.pid not in frozen]
        for target in fresh:
            send(target, signal.SIGSTOP)
        passed |= {target.pid for target in fresh}
        if scope.keeper is not None:
            fresh += chain.catch(scope.keeper, passed, scope.owns)
        if not fresh:
            break
        frozen |= {target.pid: target for target in fresh}
    return Found(members=list(frozen.values()), spared=found.spared)


async def wait_gone(targets: Iterable[Entry], patience: float) -> None:
    """Return when all *targets* have ended, or after *patience* seconds."""
    ends = []
    with contextlib.ExitStack() as stack:
        for target in targets:
            with contextlib.suppress(OSError):
                handle = _open(target)
                if handle is not None:
                    stack.callback(os.close, handle)
                    ends.append(_readable(handle, stack))
        if ends:
            await asyncio.wait(ends, timeout=patience)


def _readable(handle: int, stack: contextlib.ExitStack) -> asyncio.Future[None]:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    stack.callback(loop.remove_reader, handle)
    loop.add_reader(handle, _resolve(ended))
    return ended


def _resolve(ended: asyncio.Future[None]) -> Callable[[], None]:
    def resolve() -> None:
        if not ended.done():
            ended.set_result(None)

    return resolve
