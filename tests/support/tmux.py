"""A tmux server, as a person uses it beside agent-pty."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator

from support.agent import Agent


class Tmux:
    """A tmux server, as a person uses it."""

    def __init__(self, socket: str, env: dict[str, str]) -> None:
        self.socket = socket
        self._env = {**env, "TERM": "xterm-256color"}
        self._env.pop("TMUX", None)

    def __call__(self, *words: str) -> str:
        """Run a command."""
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command that may fail."""
        argv = ["tmux", "-u", "-S", self.socket, *words]
        return subprocess.run(
            argv, env=self._env, capture_output=True, text=True, timeout=60, check=False
        )

    @property
    def server(self) -> int:
        """The pid of the server."""
        return int(self("display-message", "-p", "#{pid}"))


@contextlib.contextmanager
def persons_server(agent: Agent) -> Iterator[Tmux]:
    """A person's own tmux, in the place where it is by default; `mine` runs a shell."""
    agent.env["TMUX_TMPDIR"] = str(agent.home)
    directory = agent.home / f"tmux-{os.getuid()}"
    directory.mkdir(mode=0o700)
    server = Tmux(str(directory / "default"), agent.env)
    shell = ["/bin/bash", "--norc", "--noprofile"]
    server("-f", "/dev/null", "new-session", "-d", "-s", "mine", "-x", "90", "-y", "25", *shell)
    try:
        yield server
    finally:
        server.run("kill-server")
