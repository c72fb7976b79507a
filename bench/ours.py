"""A home of our own with a daemon in it: by command line and by open socket."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from agent_pty.client.connection import Connection, connect
from agent_pty.core.layout import layout
from bench.place import PROMPT, SHELL, Place
from bench.process import await_end

_PATIENCE = 120
# Where the commands of this build are installed.
PROGRAMS = os.path.dirname(sys.executable)


class Ours:
    """A user of the real thing, whose commands are in the directory *programs*."""

    def __init__(self, place: Place, programs: str = PROGRAMS) -> None:
        self.place = place
        self.programs = programs
        self.env = {**place.env, "AGENT_PTY_HOME": place.folder()}

    def cli(self, *words: str, check: bool = True) -> str:
        """Run `agent-pty` to its end and return what it printed."""
        done = subprocess.run(
            [os.path.join(self.programs, "agent-pty"), *words],
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=check,
        )
        return done.stdout

    def connect(self) -> Connection:
        """Open a socket."""
        return connect(layout(self.env, cwd="/"), start=False, patience=_PATIENCE)

    def pids(self) -> list[int]:
        """Return the daemon, the keeper and the hosts: all of us but the sessions."""
        with self.connect() as connection:
            status = connection.ask("status")
        return [status["pid"], status["keeper_pid"], *(host["pid"] for host in status["hosts"])]

    def stop(self) -> None:
        """End every session and every process of ours, and see them gone."""
        handles = []
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                handles.append(os.pidfd_open(pid))
        self.cli("stop")
        await_end(handles)


def make(
    connection: Connection,
    name: str,
    argv: list[str] = SHELL,
    *,
    repo: str = "/tmp",  # noqa: S108
    **fields: Any,
) -> Any:
    """Start a session in a directory."""
    return connection.ask("new", id=name, repo=repo, argv=argv, **fields)


def await_text(
    connection: Connection, name: str, text: str, seconds: float = 60, **fields: Any
) -> Any:
    """Return the observation of a wait."""
    return connection.ask("wait", id=name, until=text, timeout_ms=int(seconds * 1000), **fields)


def make_ready(connection: Connection, name: str) -> None:
    """Start a shell and wait for its prompt."""
    make(connection, name)
    await_text(connection, name, PROMPT)


@contextlib.contextmanager
def ours(place: Place, programs: str = PROGRAMS, *, config: str = "") -> Iterator[Ours]:
    """Start a daemon with a `config.toml` of this text, and stop it at the end."""
    us = Ours(place, programs)
    if config:
        with open(f"{us.env['AGENT_PTY_HOME']}/config.toml", "w", encoding="utf-8") as file:
            file.write(config)
    # An error, but a daemon must say so; `list` does not start one.
    us.cli("read", "no-such-session", check=False)
    try:
        yield us
    finally:
        us.stop()
