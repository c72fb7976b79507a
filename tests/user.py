"""A user of the real thing: a home of their own, the command line, and a finaliser that reaps."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from agent_pty.client.connection import Connection, connect
from agent_pty.core.layout import Layout, layout

_SECONDS = 60


class Agent:
    """A user with an empty home: the command line, and a connection to the daemon."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.env = {**os.environ, "AGENT_PTY_HOME": str(home), "PS1": "$ ", "HISTFILE": ""}
        self.env.pop("AGENT_PTY_SESSION", None)
        self.env.pop("AGENT_PTY_SOCKET", None)

    @property
    def layout(self) -> Layout:
        """Where this user's daemon is."""
        return layout(self.env, cwd="/")

    def cli(self, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run `agent-pty` to its end."""
        return subprocess.run(
            [sys.executable, "-m", "agent_pty.cli.main", *words],
            env=self.env,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Run `agent-pty` beside the test."""
        return subprocess.Popen(
            [sys.executable, "-m", "agent_pty.cli.main", *words],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def connect(self) -> Connection:
        """Connect to the daemon; the first to do so starts it, with this user's environment."""
        self.cli("list")
        return connect(self.layout, start=False)

    def ask(self, op: str, **fields: Any) -> Any:
        """Ask one question on a connection of its own."""
        with self.connect_if_running() as connection:
            return connection.ask(op, **fields)

    def connect_if_running(self) -> Connection:
        """Connect, starting the daemon only if nobody listens."""
        try:
            return connect(self.layout, start=False)
        except ConnectionError:
            return self.connect()

    def new(self, name: str, *argv: str, **fields: Any) -> dict[str, Any]:
        """Start a session with a fixed prompt and wait until it can be typed into."""
        words = list(argv) or ["/bin/bash", "--norc", "--noprofile"]
        made: dict[str, Any] = self.ask("new", id=name, repo="/tmp", argv=words, **fields)
        if not argv:
            self.ask("wait", id=name, until="prompt", timeout_ms=30_000)
        return made

    def info(self, name: str) -> dict[str, Any]:
        """Return one session's line of `list`."""
        found: dict[str, Any] = next(one for one in self.ask("list") if one["id"] == name)
        return found

    def processes(self) -> list[int]:
        """Return every living process that carries this home in its environment."""
        mark = f"AGENT_PTY_HOME={self.home}".encode()
        return [pid for pid in _pids() if mark in _environment(pid)]

    def reap(self) -> None:
        """End whatever is left, by pid, and remove the home."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        shutil.rmtree(self.home, ignore_errors=True)


def _pids() -> list[int]:
    return [
        int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()
    ]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
