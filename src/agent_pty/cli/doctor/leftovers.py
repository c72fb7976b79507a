"""Processes of a home that neither the daemon nor the keeper knows.

Our own processes are recognized by their command line, those of a session by the marks in their
environment. Where the system does not show other processes' environments (macOS), none is found.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agent_pty.cli.doctor.checks import Trouble
from agent_pty.core.layout import Layout, layout
from agent_pty.errors import AgentPtyError
from agent_pty.keeper.link import KeeperLink
from agent_pty.keeper.message import Holdings
from agent_pty.process import table
from agent_pty.process.tree import INSTANCE_VARIABLE

_PATIENCE = 5.0
_OWN_MODULES = (" -m agent_pty.keeper ", " -m agent_pty.daemon ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A process that is not known; *instance* is None if it is a keeper, host or daemon."""

    pid: int
    command: str
    instance: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What waits for a daemon (sessions, our own processes), and processes that are not known."""

    sessions: int
    own_processes: int
    orphans: list[Orphan]

    @property
    def nothing_waits(self) -> bool:
        """Whether nothing waits for a daemon."""
        return self.sessions == 0 and self.own_processes == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    entry: table.Entry
    home: str | None
    instance: str | None
    command: str = ""
    own: bool = False


def survey(where: Layout, *, status: dict[str, Any] | None, instances: frozenset[str]) -> Leftovers:
    """Compare the process table with what the daemon (*status*, *instances*) and keeper know."""
    # Read the table first: a session that starts meanwhile is then known to the keeper.
    seen = _scan(where)
    keeper = asyncio.run(_keeper(where, status))
    own = [one for one in seen if one.own]
    held = keeper.sessions.keys() if keeper is not None else frozenset[str]()
    known = instances | held
    if keeper is None and own:
        known |= _recorded(where)  # only the hosts know them, and the next daemon asks the hosts
    marked = [one for one in seen if one.instance and not one.own]
    lost = [one for one in marked if one.instance not in known]
    if status is not None:
        ours = {status["pid"]}
        if keeper is not None:
            ours |= {keeper.pid, *keeper.hosts.values()}
        ours |= {host["pid"] for host in status.get("hosts", ())} | {status.get("keeper_pid")}
        lost += [one for one in own if one.entry.pid not in ours]
        return Leftovers(sessions=0, own_processes=0, orphans=_alive(lost))
    waiting = held | {one.instance for one in marked} & known
    return Leftovers(sessions=len(waiting), own_processes=len(own), orphans=_alive(lost))


def _alive(lost: Iterable[_Seen]) -> list[Orphan]:
    """Return those that still run: a session may have been killed in the meantime."""
    return [
        Orphan(
            pid=one.entry.pid,
            command=one.command,
            instance=None if one.own else one.instance,
        )
        for one in lost
        if (now := table.entry(one.entry.pid)) and now.alive and now.birth == one.entry.birth
    ]


def _recorded(where: Layout) -> set[str]:
    try:
        return set(os.listdir(where.sessions))
    except FileNotFoundError:
        return set()


async def _keeper(where: Layout, status: dict[str, Any] | None) -> Holdings | None:
    """Return what the keeper holds; None if there is none."""
    link = KeeperLink(on_event=lambda _event, _fds: None, on_lost=lambda: None)
    try:
        async with asyncio.timeout(_PATIENCE):
            return await link.connect(where.keeper_socket, role="client")
    except TimeoutError:
        pid = (status or {}).get("keeper_pid") or holder(where.keeper_lock)
        raise Trouble(
            f"the keeper (pid {pid}) does not answer: `kill -9 {pid}` loses no session, "
            "the hosts give the terminals to a new one"
        ) from None
    except (FileNotFoundError, ConnectionError):
        return None
    finally:
        link.close()


def holder(lock: str) -> int | None:
    """Return a process that has this lock file open, None if that cannot be seen."""
    path = os.path.realpath(lock)
    return next((pid for pid in table.snapshot() if path in table.open_files(pid)), None)


def _scan(where: Layout) -> list[_Seen]:
    """Return the processes of this home: those of its sessions, and our own."""
    home = os.path.realpath(where.home)
    seen = [_look(entry) for entry in table.snapshot().values() if entry.alive]
    # A program in a session of another home may set AGENT_PTY_HOME to ours; that session is
    # not one of this home.
    foreign = {one.instance for one in seen if one.home != home}
    mine = [_read_command(one, home) for one in seen if one.home == home]
    return [one for one in mine if one.own or (one.instance and one.instance not in foreign)]


def _look(entry: table.Entry) -> _Seen:
    if entry.pid == os.getpid():
        return _Seen(entry=entry, home=None, instance=None)
    pairs = (item.partition(b"=") for item in table.environment(entry.pid))
    env = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
    return _Seen(entry=entry, home=_home(env), instance=env.get(INSTANCE_VARIABLE))


def _home(env: dict[str, str]) -> str | None:
    try:
        return os.path.realpath(layout(env, cwd="/", real=os.path.realpath).home)
    except AgentPtyError:
        return None


def _read_command(one: _Seen, home: str) -> _Seen:
    command = table.described(one.entry).command
    return _Seen(
        entry=one.entry,
        home=one.home,
        instance=one.instance,
        command=command,
        own=_is_own(command, home),
    )


def _is_own(command: str, home: str) -> bool:
    """Whether this is a keeper, or a host or daemon: they have the keeper's command line."""
    for module in _OWN_MODULES:
        _, found, words = command.partition(module)
        if found:
            try:
                return bool(os.path.realpath(json.loads(words)["home"]) == home)
            except (ValueError, KeyError, TypeError):
                return False  # a program that only mentions us: an editor, a grep
    return False
