"""A user of the real thing: a home of their own, the command line, and a finaliser that reaps."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from agent_pty.client.connection import Connection, connect
from agent_pty.core.layout import Layout, layout
from agent_pty.errors import AgentPtyError
from agent_pty.store.home import left_behind

# The script as it is installed.
AGENT_PTY = os.path.join(os.path.dirname(sys.executable), "agent-pty")
_SECONDS = 60


class Agent:
    """A user with an empty home: the command line, and a connection to the daemon."""

    def __init__(self, home: Path) -> None:
        self.home = home
        # Whoever runs the tests has start-up files of their own; this user has none.
        own = {"HOME": str(home), "AGENT_PTY_HOME": str(home), "PS1": "$ ", "HISTFILE": ""}
        self.env = {**os.environ, **own}
        for name in ("AGENT_PTY_SESSION", "AGENT_PTY_INSTANCE", "AGENT_PTY_SOCKET"):
            self.env.pop(name, None)

    @property
    def layout(self) -> Layout:
        """Where this user's daemon is."""
        return layout(self.env, cwd="/")

    def cli(self, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run `agent-pty` to its end."""
        return subprocess.run(
            [AGENT_PTY, *words],
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
            [AGENT_PTY, *words],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def connect(self) -> Connection:
        """Connect to the daemon; the first to do so starts it, with this user's environment."""
        # An error, but a daemon must say so; `list` does not start one.
        self.cli("read", "no-such-session")
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

    @contextlib.contextmanager
    def begin(self, op: str, **fields: Any) -> Iterator[Callable[[], dict[str, Any]]]:
        """Send a request and give the function that waits for its envelope.

        Requests reach a host in the order in which they were sent: once a later one is
        answered, this one is being worked on.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(_SECONDS)
            sock.connect(self.layout.socket)
            sock.sendall(json.dumps({"op": op, **fields}).encode() + b"\n")
            with sock.makefile("rb") as answers:
                yield lambda: json.loads(answers.readline())

    def transcript(self, name: str, since: int | None = None) -> str:
        """Read everything a session wrote, page by page."""
        text, more = "", True
        while more:
            page = self.ask("read", id=name, since=since)
            assert page["gap"] is None
            text, since, more = text + page["text"], page["cursor"], page["more"]
        return text

    def pid_of(self, role: str) -> int:
        """Return the pid of the `daemon`, of the `keeper`, or of the host of session *role*."""
        if role == "keeper":
            return self._keeper_pid()
        return int(self.ask("status")["pid"] if role == "daemon" else self.info(role)["host_pid"])

    def _keeper_pid(self) -> int:
        """Return the keeper's pid; while one that died is replaced, there is none."""
        found: list[int] = []

        def look() -> bool:
            found[:] = [pid for pid in [self.ask("status")["keeper_pid"]] if pid is not None]
            return bool(found)

        eventually(look)
        return found[0]

    def info(self, name: str) -> dict[str, Any]:
        """Return one session's line of `list`."""
        found: dict[str, Any] = next(one for one in self.ask("list") if one["id"] == name)
        return found

    def processes(self) -> list[int]:
        """Return every living process that carries this home in its environment."""
        mark = f"AGENT_PTY_HOME={self.home}".encode()
        return [pid for pid in _pids() if mark in _environment(pid)]

    def stop(self) -> None:
        """Stop the daemon if one runs, without the command; that takes as long as many tests."""
        try:
            with connect(self.layout, start=False) as connection:
                connection.ask("shutdown", keep=False)
                connection.until_closed()
        except AgentPtyError:
            if left_behind(self.layout):
                self.cli("stop")

    def reap(self) -> None:
        """End whatever is left, by pid, and remove the home."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        shutil.rmtree(self.home, ignore_errors=True)


def slay(*pids: int, by: signal.Signals = signal.SIGKILL) -> None:
    """Signal processes at the same moment and return when the kernel says that they ended."""
    handles = [os.pidfd_open(pid) for pid in pids]
    if by is signal.SIGKILL and len(handles) > 1:
        # None of them may act on the death of another: this process may pause between two signals.
        for handle in handles:
            signal.pidfd_send_signal(handle, signal.SIGSTOP)
    for handle in handles:
        signal.pidfd_send_signal(handle, by)
    for handle in handles:
        _await_end(handle)


def ended(pid: int) -> None:
    """Return when a process has ended; one that is gone already has."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    _await_end(handle)


def _await_end(handle: int) -> None:
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        assert poll.poll(_SECONDS * 1000), "a process that should end lives on"
    finally:
        os.close(handle)


def sockets(pid: int) -> list[str]:
    """Return the sockets that a process has open, as /proc names them."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return [one for one in found if one.startswith("socket:")]


def holds_socket(pid: int, path: str) -> bool:
    """Whether a process has the listening socket at *path*."""
    table = Path("/proc/net/unix").read_text().splitlines()
    inodes = {line.split()[6] for line in table if line.endswith(path)}
    return any(one[len("socket:[") : -1] in inodes for one in sockets(pid))


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def running(*words: str) -> list[int]:
    """Return the living processes with exactly this command line."""
    wanted = "\0".join(words).encode() + b"\0"
    return [pid for pid in _pids() if _read(pid, "cmdline") == wanted and alive(pid)]


def eventually(condition: Callable[[], bool]) -> None:
    """Ask until *condition* holds: only for what nothing can signal."""
    deadline = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        threading.Event().wait(0.02)


def _pids() -> list[int]:
    return [
        int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()
    ]


def _environment(pid: int) -> list[bytes]:
    return _read(pid, "environ").split(b"\0")


def _read(pid: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


def gateway_of(agent: Agent) -> int:
    """Return the pid of the gateway."""
    for pid in agent.processes():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="ascii") as file:
            if file.read().strip() == "agent-pty-gatew":
                return pid
    raise AssertionError("there is no gateway")
