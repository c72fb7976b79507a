"""Processes of a home that nobody accounts for.

Ours are known by their command line, a session's by the marks in its environment. Where
the system does not show other processes' environments (macOS), none is found.
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
_SERVANTS = (" -m agent_pty.keeper ", " -m agent_pty.daemon ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A process that nobody knows; *instance* is None if it is a keeper, host or daemon."""

    pid: int
    command: str
    instance: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What there is without a daemon (sessions, our own processes), and what nobody knows."""

    sessions: int
    servants: int
    orphans: list[Orphan]

    @property
    def nobody(self) -> bool:
        """Whether nothing waits for a daemon."""
        return self.sessions == 0 and self.servants == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    entry: table.Entry
    home: str | None
    instance: str | None
    command: str = ""
    servant: bool = False


def survey(where: Layout, *, status: dict[str, Any] | None, instances: frozenset[str]) -> Leftovers:
    """Compare the process table with what the daemon (*status*, *instances*) and keeper know."""
    # The table first: a session that starts meanwhile is then known to the keeper.
    seen = _scan(where)
    keeper = asyncio.run(_keeper(where, status))
    servants = [one for one in seen if one.servant]
    held = keeper.sessions.keys() if keeper is not None else frozenset[str]()
    known = instances | held
    if keeper is None and servants:
        known |= _recorded(where)  # only the hosts know, and the next daemon asks them
    marked = [one for one in seen if one.instance and not one.servant]
    lost = [one for one in marked if one.instance not in known]
    if status is not None:
        ours = {status["pid"]}
        if keeper is not None:
            ours |= {keeper.pid, *keeper.hosts.values()}
        ours |= {host["pid"] for host in status.get("hosts", ())} | {status.get("keeper_pid")}
        lost += [one for one in servants if one.entry.pid not in ours]
        return Leftovers(sessions=0, servants=0, orphans=_alive(lost))
    waiting = held | {one.instance for one in marked} & known
    return Leftovers(sessions=len(waiting), servants=len(servants), orphans=_alive(lost))


def _alive(lost: Iterable[_Seen]) -> list[Orphan]:
    """Leave out what has ended since: a session may have been killed as we looked."""
    return [
        Orphan(
            pid=one.entry.pid,
            command=one.command,
            instance=None if one.servant else one.instance,
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
    """Return a process that has this lock file open, None if that is not to be seen."""
    path = os.path.realpath(lock)
    return next((pid for pid in table.snapshot() if path in table.open_files(pid)), None)


def _scan(where: Layout) -> list[_Seen]:
    """Return the processes of this home, all sessions' and ours."""
    home = os.path.realpath(where.home)
    seen = [_look(entry) for entry in table.snapshot().values() if entry.alive]
    # Somebody inside a session may point AGENT_PTY_HOME here; the session is not from here.
    foreign = {one.instance for one in seen if one.home != home}
    mine = [_read_command(one, home) for one in seen if one.home == home]
    return [one for one in mine if one.servant or (one.instance and one.instance not in foreign)]


def _look(entry: table.Entry) -> _Seen:
    if entry.pid == os.getpid():
        return _Seen(entry=entry, home=None, instance=None)
    pairs = (item.partition(b"=") for item in table.environment(entry.pid))
    env = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
    return _Seen(entry=entry, home=_home(env), instance=env.get(INSTANCE_VARIABLE))


def _home(env: dict[str, str]) -> str | None:
    try:
        return os.path.realpath(layout(env, cwd="/").home)
    except AgentPtyError:
        return None


def _read_command(one: _Seen, home: str) -> _Seen:
    command = table.described(one.entry).command
    return _Seen(
        entry=one.entry,
        home=one.home,
        instance=one.instance,
        command=command,
        servant=_serves(command, home),
    )


def _serves(command: str, home: str) -> bool:
    """Whether this is a keeper, or one of the hosts and daemons that keep its command line."""
    for module in _SERVANTS:
        _, found, words = command.partition(module)
        if found:
            try:
                return bool(os.path.realpath(json.loads(words)["home"]) == home)
            except (ValueError, KeyError, TypeError):
                return False  # somebody who only writes about us: an editor, a grep
    return False
