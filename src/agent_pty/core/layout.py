"""The paths of all files. Pure: paths are computed here and used elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from agent_pty.errors import DaemonError


class Layout(NamedTuple):  # every client call makes one, and dataclasses take 12 ms to import
    """The files of one home. One home has one daemon, one keeper and a few hosts."""

    home: str
    socket: str
    log_dir: str

    @property
    def run(self) -> str:
        """Sockets and the state of live sessions; empty after `stop`."""
        return f"{self.home}/run"

    @property
    def log(self) -> str:
        """Where daemon, hosts and keeper write what went wrong."""
        return f"{self.home}/daemon.log"

    @property
    def format(self) -> str:
        """Says which version's layout the home has."""
        return f"{self.home}/format"

    @property
    def session_index(self) -> str:
        """The session index of the seed, `sessions.json`."""
        return f"{self.log_dir}/sessions.json"

    @property
    def daemon_lock(self) -> str:
        """Locked by the one daemon of this home as long as it lives."""
        return f"{self.run}/daemon.lock"

    @property
    def keeper_lock(self) -> str:
        """Locked by the one keeper of this home as long as it lives."""
        return f"{self.run}/keeper.lock"

    @property
    def start_lock(self) -> str:
        """Locked by a client while it starts a daemon, so that two clients do not start two."""
        return f"{self.run}/start.lock"

    @property
    def keeper_socket(self) -> str:
        """Where the keeper listens."""
        return f"{self.run}/keeper.sock"

    @property
    def key_ledger(self) -> str:
        """Idempotency keys of ops that the daemon answers itself."""
        return f"{self.run}/keys.jsonl"

    @property
    def sessions(self) -> str:
        """One directory per session instance."""
        return f"{self.run}/sessions"

    @property
    def aside(self) -> str:
        """Files of another version that could not be read."""
        return f"{self.home}/aside"

    def host_socket(self, host: str) -> str:
        """Where host *host* listens."""
        return f"{self.run}/{host}.sock"

    def session(self, instance: str) -> str:
        """The directory of one session instance."""
        return f"{self.sessions}/{instance}"

    def spec(self, instance: str) -> str:
        """What is fixed about one session instance."""
        return f"{self.session(instance)}/spec.json"

    def loss(self, instance: str) -> str:
        """When and why one session instance was lost, if it was."""
        return f"{self.session(instance)}/lost.json"

    def to_wire(self) -> dict[str, str]:
        """Return the three roots, from which the rest follows."""
        return {"home": self.home, "socket": self.socket, "log_dir": self.log_dir}


def expanded(path: str, env: Mapping[str, str]) -> str:
    """Replace a leading `~` by HOME; `~user` is left as typed.

    >>> expanded("~/x", {"HOME": "/home/a"})
    '/home/a/x'
    """
    if path != "~" and not path.startswith("~/"):
        return path
    home = env.get("HOME")
    return path if not home else home + path[1:]


def layout(
    env: Mapping[str, str], *, cwd: str, socket: str | None = None, log_dir: str | None = None
) -> Layout:
    """Decide the paths from the environment and the two options that move them.

    AGENT_PTY_HOME moves everything, the socket too; without it the socket is where
    the seed has it, beside the home and not in it.
    """
    home = env.get("AGENT_PTY_HOME") or "~/.agent-pty"
    if home.startswith("~") and not env.get("HOME"):
        raise DaemonError("HOME is not set: set AGENT_PTY_HOME to a directory of your own")
    base = home.rstrip("/")
    default = f"{base}/agent-pty.sock" if env.get("AGENT_PTY_HOME") else "~/.agent-pty.sock"
    socket = socket or env.get("AGENT_PTY_SOCKET") or default
    return Layout(
        home=_absolute(home, env, cwd),
        socket=_absolute(socket, env, cwd),
        log_dir=_absolute(log_dir or f"{base}/runs", env, cwd),
    )


def _absolute(path: str, env: Mapping[str, str], cwd: str) -> str:
    path = expanded(path, env)
    path = path if path.startswith("/") else f"{cwd}/{path}"
    return path.rstrip("/") or "/"
