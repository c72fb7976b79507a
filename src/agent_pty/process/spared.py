"""Processes that no `kill` and no `stop` ends: tmux servers, and processes of agent-pty itself.

Somebody may start one inside a session, but not for that session alone: a tmux server has
terminals of its own, and the keeper of another home has the sessions of that home. They are
recognised and named.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from agent_pty.process import table
from agent_pty.process.table import Entry

_TMUX_SERVER = "tmux: server"
KEEPER, DAEMON, HOST = "agent-pty-keepe", "agent-pty-daemo", "agent-pty-host"
GATEWAY = "agent-pty-gatew"
_MODULES = ("agent_pty.keeper", "agent_pty.daemon")
_LOCKS = ("/run/daemon.lock", "/run/keeper.lock")


def is_spared(found: Entry) -> bool:
    """Whether this is a tmux server, or a keeper, daemon, host or gateway of some home."""
    return is_tmux_server(found) or home_of(found) is not None


def is_tmux_server(found: Entry) -> bool:
    """Whether this is a tmux server: by its name, and by the program it runs."""
    if found.name != _TMUX_SERVER:
        return False
    return os.path.basename(table.program_file(found.pid) or "").startswith("tmux")


def home_of(found: Entry) -> str | None:
    """Return the home whose keeper, daemon, host or gateway this is; None: something else.

    The name alone proves nothing: any program can take it.
    """
    if found.name not in (KEEPER, DAEMON, HOST, GATEWAY):
        return None
    return _home_in_arguments(found.pid) or _home_in_files(table.open_files(found.pid))


def _home_in_arguments(pid: int) -> str | None:
    """Return the home in `python -m agent_pty.keeper '{"home": ...}'`; hosts have that too."""
    words = table.arguments(pid)
    if not words or not any(module in words for module in _MODULES):
        return None
    try:
        return str(os.path.realpath(json.loads(words[-1])["home"]))
    except (ValueError, KeyError, TypeError):
        return None


def _home_in_files(paths: Iterable[str]) -> str | None:
    """Return the home whose lock a process has open, as a daemon in the foreground does."""
    for path in paths:
        for lock in _LOCKS:
            if path.endswith(lock):
                return path.removesuffix(lock)
    return None


def runs_in_tmux(environment: Iterable[bytes]) -> bool:
    """Whether a process with this environment was started in a tmux server that still runs.

    Our sessions begin without the variable, so a server inside one of them has set it.
    """
    for item in environment:
        name, _, value = item.partition(b"=")
        if name == b"TMUX":
            pid = value.split(b",")[1:2]
            found = table.entry(int(pid[0])) if pid and pid[0].isdigit() else None
            return found is not None and is_tmux_server(found)
    return False
