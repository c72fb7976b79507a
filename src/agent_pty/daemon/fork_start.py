"""What a fork inherits from the program of its source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from agent_pty.errors import ForkFailed
from agent_pty.integration.restored import restored
from agent_pty.ops.model import Spec, Wanted
from agent_pty.process import table

# Each program gets its own.
_OF_THE_PROGRAM = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """The directory in which the source's program is now, and its environment.

    *environment* is what it was started with, *added* what its shell has exported since; None: the
    shell could not be asked.
    """

    cwd: str
    environment: Mapping[str, str] | None
    added: Mapping[str, str] | None

    @property
    def environment_is(self) -> Literal["exported", "as_started", "daemon"]:
        """Whose environment it is."""
        if self.environment is None:
            return "daemon"
        return "as_started" if self.added is None else "exported"


def inherited(spec: Spec, pid: int | None, exports: Iterable[bytes] | None) -> Inherited:
    """Look at the program of a session; *exports* is what its shell said."""
    started = _variables(table.environment(pid)) if pid is not None else {}
    cwd = table.directory(pid) if pid is not None else None
    now = None if exports is None or not started else _variables(exports)
    return Inherited(
        cwd=cwd if cwd is not None and os.path.isdir(cwd) else spec.workspace,
        environment=_kept(started, now) if started else None,
        added=None if now is None else _changed(started, now),
    )


def check_argv(spec: Spec) -> None:
    """Refuse to fork a program of a person whose arguments could not be read."""
    if spec.tmux is not None and spec.tmux.adopted and not spec.tmux.argv_known:
        raise ForkFailed(
            f"session {spec.name} was adopted from tmux, and with which arguments its program was "
            "started is not known: start another one with agent-pty new"
        )


def _variables(found: Iterable[bytes]) -> dict[str, str]:
    """Return variables without those that are ours."""
    return restored(dict(os.fsdecode(item).partition("=")[::2] for item in found))


def _kept(started: Mapping[str, str], now: Mapping[str, str] | None) -> dict[str, str]:
    """Leave out what the shell has unset."""
    kept = started if now is None else now.keys() | _OF_THE_PROGRAM
    return {name: value for name, value in started.items() if name in kept}


def _changed(started: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in now.items()
        if name not in _OF_THE_PROGRAM and started.get(name) != value
    }


def started_like(spec: Spec, inherits: Inherited, *, name: str, cwd: str) -> Wanted:
    """Return the wish for a session like another one.

    What its shell has exported counts as added by the request, so that the policy judges it.
    """
    environment = None if inherits.environment is None else dict(inherits.environment)
    known = environment or {}
    given = {one: known[one] for one in spec.env_names if one in known}
    place = spec.tmux
    return Wanted(
        name=name,
        argv=spec.argv,
        cwd=cwd,
        env={**given, **(inherits.added or {})},
        environment=environment,
        rows=spec.rows,
        cols=spec.cols,
        title=spec.title,
        isolate=spec.isolate,
        marks=spec.program is not None,
        frame=spec.frame,
        idle_stop=spec.idle_stop,
        backend="pty" if place is None else "tmux",
        tmux_socket=None if place is None or place.own else place.socket,
        guard=spec.guard,
    )
