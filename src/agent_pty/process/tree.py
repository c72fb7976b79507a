"""The processes of one session: found wherever they are, signalled by handle, ended.

A process belongs to a session if it descends from its program, shares its kernel session,
or, having left both by `setsid` and a double fork, still carries the session's mark in its
environment or holds its terminal open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agent_pty.ops.model import Process
from agent_pty.process import table
from agent_pty.process.table import Entry

INSTANCE_VARIABLE = "AGENT_PTY_INSTANCE"
_GRACE = 0.25
_DEADLINE = 3.0
_MOST_FREEZES = 20
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
    """Which processes were ended, and which are still there."""

    ended: list[Process]
    survivors: list[Process]


def members(roots: Sequence[Root]) -> list[Entry]:
    """Return every living process of these sessions, from one reading of the process table."""
    entries = table.snapshot()
    children: dict[int, list[Entry]] = {}
    for found in entries.values():
        children.setdefault(found.ppid, []).append(found)
    own = {root.pid for root in roots if _unreplaced(root, entries)}
    start = [e for e in entries.values() if e.session in own or e.pid in own]
    start += [e for e in _orphans(roots, entries) if _marked(e, roots)]
    return [e for e in _descendants(start, children) if e.alive and e.pid != os.getpid()]


def _unreplaced(root: Root, entries: dict[int, Entry]) -> bool:
    """Whether the pid still names the session: it is not reused while the session has members."""
    found = entries.get(root.pid)
    return found is None or root.birth in (None, found.birth)


def _orphans(roots: Sequence[Root], entries: dict[int, Entry]) -> list[Entry]:
    parents = {_INIT, *(root.keeper for root in roots)}
    return [e for e in entries.values() if e.ppid in parents and e.alive]


def _marked(found: Entry, roots: Sequence[Root]) -> bool:
    marks = {f"{INSTANCE_VARIABLE}={root.instance}".encode() for root in roots}
    if not marks.isdisjoint(table.environment(found.pid)):
        return True
    # An emptied environment hides the mark; only orphans of sessions have the keeper as parent.
    terminals = {root.terminal for root in roots if root.keeper == found.ppid and root.terminal}
    return bool(terminals) and not terminals.isdisjoint(table.open_files(found.pid))


def _descendants(start: Iterable[Entry], children: dict[int, list[Entry]]) -> list[Entry]:
    found: dict[int, Entry] = {}
    todo = list(start)
    while todo:
        entry = todo.pop()
        if entry.pid not in found:
            found[entry.pid] = entry
            todo += children.get(entry.pid, [])
    return list(found.values())


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
    """End whole trees: ask, wait a little, then freeze and kill until nothing is left."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _DEADLINE
    first = members(roots)
    # Described now: a process that has ended has no command line.
    seen = {(e.pid, e.birth): table.described(e) for e in first}
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGCONT):
        for found in first:
            send(found, number)
    await wait_gone(first, _GRACE)
    _kill_groups(first)
    left = members(roots)
    while left and loop.time() < deadline:
        left = _freeze(roots)
        seen |= {(e.pid, e.birth): table.described(e) for e in left if (e.pid, e.birth) not in seen}
        for found in left:
            send(found, signal.SIGKILL)
        _kill_groups(left)
        await wait_gone(left, min(_GRACE, max(0.0, deadline - loop.time())))
        left = members(roots)
    alive = {(e.pid, e.birth) for e in left}
    return KilledTrees(
        ended=[process for key, process in seen.items() if key not in alive],
        survivors=[table.described(e) for e in left],
    )


def _kill_groups(targets: Iterable[Entry]) -> None:
    """Kill what is left in the groups of processes that were ours a moment ago.

    A process that forks and exits, again and again, is gone before a reading of the table is
    acted upon; the kernel signals a group at once, and a fork waits for that.
    """
    for group in {target.group for target in targets} - {os.getpgrp()}:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)


def _freeze(roots: Sequence[Root]) -> list[Entry]:
    """Stop every member before one is killed: a stopped process forks no successor."""
    frozen: dict[int, Entry] = {}
    for _ in range(_MOST_FREEZES):
        fresh = [e for e in members(roots) if e.pid not in frozen]
        if not fresh:
            break
        for found in fresh:
            send(found, signal.SIGSTOP)
            frozen[found.pid] = found
    return list(frozen.values())


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
