"""The paths of all files. Pure: paths are computed here and used elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from agent_pty.errors import DaemonError

# Homes of daemons at other sockets than the default one lie in this directory. Their names are
# short: the keeper's socket lies two levels below, and its path may have 107 bytes.
_OTHERS = "at"
_NAME_BYTES = 5
_SOCKET = "AGENT_PTY_SOCKET"


class Layout(NamedTuple):  # every client call makes one, and dataclasses take 12 ms to import
    """The files of one home. One home has one daemon, one keeper and a few hosts.

    *base* is the default home if this one lies in it, because its socket is not the default one.
    """

    home: str
    socket: str
    log_dir: str
    base: str = ""

    @property
    def run(self) -> str:
        """Sockets and the state of live sessions; empty after `stop`."""
        return f"{self.home}/run"

    @property
    def log(self) -> str:
        """Where daemon, hosts and keeper write what went wrong."""
        return f"{self.home}/daemon.log"

    @property
    def config(self) -> str:
        """The settings; those of the default home also count for daemons at other sockets."""
        return f"{self.base or self.home}/config.toml"

    @property
    def keys(self) -> str:
        """The key that signs checkpoints, and the public ones; never in the log directory."""
        return f"{self.base or self.home}/keys"

    @property
    def checkpoints(self) -> str:
        """Signed: how long each journal of this home was, and when."""
        return f"{self.home}/checkpoints.jsonl"

    @property
    def http_token(self) -> str:
        """What a caller must show whom the kernel does not identify as ourselves."""
        return f"{self.base or self.home}/http-token"

    @property
    def tool_output(self) -> str:
        """Long output of the `pty_*` tools, and what is left of sessions that they ended."""
        return f"{self.home}/tool-output"

    @property
    def format(self) -> str:
        """Says which version's layout the home has."""
        return f"{self.home}/format"

    @property
    def session_index(self) -> str:
        """The session index of the seed, `sessions.json`."""
        return f"{self.log_dir}/sessions.json"

    @property
    def traces(self) -> str:
        """One line for each request; no session may have a journal of this name."""
        return f"{self.log_dir}/traces.jsonl"

    @property
    def older_traces(self) -> str:
        """What `traces` was before it became too large."""
        return f"{self.log_dir}/traces.1.jsonl"

    @property
    def proofs(self) -> str:
        """Where the proofs of sessions are."""
        return f"{self.log_dir}/proofs"

    @property
    def past_sessions(self) -> str:
        """What is known of past sessions; no journal can have this name."""
        return f"{self.session_index}.past"

    @property
    def forks(self) -> str:
        """What is known of forks, a file for each."""
        return f"{self.log_dir}/forks"

    @property
    def log_dir_note(self) -> str:
        """Names the log directory, for callers who give only the socket."""
        return f"{self.home}/log_dir"

    @property
    def owner_note(self) -> str:
        """Names the socket, for callers who give only the log directory."""
        return f"{self.log_dir}/.daemon"

    @property
    def log_lock(self) -> str:
        """Locked by the one daemon that may write into the log directory as long as it lives."""
        return f"{self.log_dir}/.daemon.lock"

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
    def policy_copy(self) -> str:
        """The policy in force, for the daemon after this one."""
        return f"{self.run}/policy.json"

    @property
    def sessions(self) -> str:
        """One directory per session instance."""
        return f"{self.run}/sessions"

    @property
    def looks(self) -> str:
        """What git needs for a look at a work tree; each is there for a moment."""
        return f"{self.run}/looks"

    @property
    def aside(self) -> str:
        """Files of another version that could not be read."""
        return f"{self.home}/aside"

    @property
    def tmux_socket(self) -> str:
        """The tmux server of this home; not in `run`, because it outlives all that is there."""
        return f"{self.home}/tmux.sock"

    def host_socket(self, host: str) -> str:
        """Where host *host* listens."""
        return f"{self.run}/{host}.sock"

    def pane_sockets(self, instance: str) -> str:
        """Return what the names of the sockets begin with at which programs in tmux meet us."""
        return f"{self.run}/{instance}"

    def session(self, instance: str) -> str:
        """The directory of one session instance."""
        return f"{self.sessions}/{instance}"

    def spec(self, instance: str) -> str:
        """What is fixed about one session instance."""
        return f"{self.session(instance)}/spec.json"

    def exports(self, instance: str) -> str:
        """Where the shell of one session instance writes what it exports, when it is asked."""
        return f"{self.session(instance)}/exports"

    def loss(self, instance: str) -> str:
        """When and why one session instance was lost, if it was."""
        return f"{self.session(instance)}/lost.json"

    @property
    def variables(self) -> dict[str, str]:
        """What programs in our sessions need in their environment to find this daemon."""
        return {_SOCKET: self.socket} if self.base else {}

    def variables_for(self, env: Mapping[str, str]) -> dict[str, str]:
        """What a program with the environment *env* needs as well to find this daemon."""
        others = {name: value for name, value in env.items() if name != _SOCKET}
        try:
            found = layout(others, cwd="/").socket
        except DaemonError:
            found = None
        return {} if found == self.socket else {_SOCKET: self.socket}

    def to_wire(self) -> dict[str, str]:
        """Return the roots, from which the rest follows."""
        roots = {"home": self.home, "socket": self.socket, "log_dir": self.log_dir}
        return {**roots, "base": self.base} if self.base else roots


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
    env: Mapping[str, str],
    *,
    cwd: str,
    socket: str | None = None,
    log_dir: str | None = None,
    real: Callable[[str], str] = str,
) -> Layout:
    """Decide the paths from the environment and the two options that move them.

    AGENT_PTY_HOME moves everything, the socket too; without it the default socket is where the
    seed has it, beside the home and not in it. The daemon at another socket has a home of its own
    in the default one, whose name follows from the socket. With *log_dir* alone the socket's name
    follows from the directory. *real* resolves links: two paths of a file give the same name.
    """
    chosen = env.get("AGENT_PTY_HOME")
    if (chosen or "~").startswith("~") and not env.get("HOME"):
        raise DaemonError("HOME is not set: set AGENT_PTY_HOME to a directory of your own")
    base = _absolute(chosen or "~/.agent-pty", env, cwd)
    usual = f"{chosen.rstrip('/')}/agent-pty.sock" if chosen else "~/.agent-pty.sock"
    default = _absolute(usual, env, cwd)
    given = socket or env.get(_SOCKET)
    logs = _absolute(log_dir, env, cwd) if log_dir else None
    if given:
        where = _absolute(given, env, cwd)
    elif logs is None or real(logs) == real(f"{base}/runs"):
        where = default
    else:
        where = f"{base}/{_OTHERS}/{_name(real(logs))}.sock"
    if where == default or real(where) == real(default):
        return Layout(home=base, socket=where, log_dir=logs or f"{base}/runs")
    home = f"{base}/{_OTHERS}/{_name(real(where))}"
    return Layout(home=home, socket=where, log_dir=logs or f"{home}/runs", base=base)


def _name(path: str) -> str:
    """Return a short name that follows from a path, the same in every version of Python."""
    import hashlib  # noqa: PLC0415  rarely needed, and every call of a client imports this file

    return hashlib.blake2s(
        path.encode("utf-8", "surrogateescape"), digest_size=_NAME_BYTES
    ).hexdigest()


def _absolute(path: str, env: Mapping[str, str], cwd: str) -> str:
    path = expanded(path, env)
    path = path if path.startswith("/") else f"{cwd}/{path}"
    return path.rstrip("/") or "/"
