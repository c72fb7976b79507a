"""Starting a daemon: by a real keeper, by a keeper that the test plays, or by a new process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import site
import socket
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import pytest

from agent_pty import build
from agent_pty.client import start
from agent_pty.client.connection import connect
from agent_pty.client.start import (
    isolation,
    listens,
    open_log,
    start_daemon,
    start_keeper,
    upgrade_keeper,
)
from agent_pty.core.layout import Layout
from agent_pty.errors import DaemonError
from agent_pty.keeper.channel import Channel, ChannelClosed, Message
from support.agent import Agent, eventually, slay

_SECONDS = 30.0
LARGEST_LOG = 4 * 1024 * 1024
CLIENTS = 8
Body = dict[str, Any]
COLD = ("agent_pty.keeper", {"daemon": True})


@pytest.fixture
def missing() -> Iterator[Layout]:
    """A home that does not exist yet; its path is short enough for sockets."""
    parent = tempfile.mkdtemp(prefix="ap-")
    home = f"{parent}/home"
    yield Layout(home=home, socket=f"{home}/s.sock", log_dir=f"{home}/runs")
    shutil.rmtree(parent)


@pytest.fixture
def layout(missing: Layout) -> Layout:
    """A home with its directories, in which nothing runs."""
    os.mkdir(missing.home)
    os.mkdir(missing.run)
    return missing


def listening(path: str) -> socket.socket:
    """Listen at *path*."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(path)
    made.listen()
    return made


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold a lock, as a living daemon does."""
    with open(path, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Spawner:
    """Takes the place of `_spawn`: notes what is started, and acts for it.

    It listens and writes *word* to its pipe. An empty word means that it only closes the pipe.
    With *silent* it keeps the pipe open and writes nothing.
    """

    def __init__(self, word: bytes = b"1", *, silent: bool = False) -> None:
        self.started: list[tuple[str, Body]] = []
        self._word = word
        self._silent = silent
        self._sockets: list[socket.socket] = []
        self._pipes: list[int] = []

    def __call__(self, layout: Layout, module: str, arguments: Body) -> None:
        """Start a module."""
        ready = arguments.pop("ready")
        self.started.append((module, arguments))
        if self._silent:
            self._pipes.append(os.dup(ready))
        elif self._word:
            self._sockets.append(listening(layout.socket))
            os.write(ready, self._word)

    def close(self) -> None:
        """Free everything."""
        for one in self._sockets:
            one.close()
        for pipe in self._pipes:
            os.close(pipe)


Spawning = Callable[[Spawner], Spawner]


@pytest.fixture
def spawning(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spawning]:
    """Put a spawner in the place of the real one."""
    used: list[Spawner] = []

    def use(spawner: Spawner) -> Spawner:
        monkeypatch.setattr(start, "_spawn", spawner)
        used.append(spawner)
        return spawner

    yield use
    for spawner in used:
        spawner.close()


class Keeper:
    """A keeper that the test plays, in a thread; it has one answer for each request in turn.

    An answer of None ends the connection. A descriptor that comes with a request gets *word*. A
    *lock* is held until the client has hung up.
    """

    def __init__(
        self,
        layout: Layout,
        answers: list[Body | None],
        *,
        word: bytes = b"1",
        lock: str | None = None,
    ) -> None:
        self.asked: list[Body] = []
        self.left = False
        self._answers = answers
        self._word = word
        self._lock = None if lock is None else os.open(lock, os.O_RDWR | os.O_CREAT)
        if self._lock is not None:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._listener = listening(layout.keeper_socket)
        self._listener.settimeout(_SECONDS)
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(_SECONDS)
        self._listener.close()
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        peer, _ = self._listener.accept()
        channel = Channel(peer)
        try:
            while (message := self._received(channel)) is not None:
                answer = self._answers.pop(0)
                if answer is None:
                    break
                for fd in message.fds:
                    os.write(fd, self._word)
                    os.close(fd)
                channel.post({**answer, "re": message.body["seq"]})
        finally:
            channel.close()
        if self._lock is not None:
            self.left = True
            os.close(self._lock)

    def _received(self, channel: Channel) -> Message | None:
        """Return the next request, None if the client hung up."""
        readable, _, _ = select.select([channel], [], [], _SECONDS)
        assert readable
        try:
            (message,) = channel.receive()  # the next one comes only after an answer
        except ChannelClosed:
            return None
        self.asked.append({name: message.body[name] for name in message.body if name != "seq"})
        return message


OURS: Body = {"pid": 1, "build": build.digest()}
HELLO = {"do": "hello", "role": "client"}
FORK = {"do": "fork", "role": "daemon"}


# -- with real processes


def test_a_daemon_is_started_with_its_keeper_and_again_from_it(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The first start makes keeper and daemon; after the daemon died, the same keeper forks another.
    """
    monkeypatch.setenv("AGENT_PTY_HOME", str(agent.home))

    start_daemon(agent.layout)
    with connect(agent.layout, start=False) as client:
        first = client.ask("status")
    slay(first["pid"])
    start_daemon(agent.layout)
    with connect(agent.layout, start=False) as client:
        second = client.ask("status")

    assert second["keeper_pid"] == first["keeper_pid"]
    assert second["pid"] != first["pid"]


def test_several_clients_start_one_daemon(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Clients that come at the same moment all get the same daemon.
    """
    monkeypatch.setenv("AGENT_PTY_HOME", str(agent.home))
    together = threading.Barrier(CLIENTS)

    def come(_number: int) -> int:
        together.wait(_SECONDS)
        with connect(agent.layout) as client:
            pid: int = client.ask("status")["pid"]
            return pid

    with ThreadPoolExecutor(CLIENTS) as clients:
        pids = list(clients.map(come, range(CLIENTS)))

    assert len(set(pids)) == 1


# -- without a keeper


def test_without_a_keeper_both_are_started(layout: Layout, spawning: Spawning) -> None:
    """
    Where nothing runs, a keeper is started that starts the daemon.
    """
    spawner = spawning(Spawner())

    start_daemon(layout)

    assert spawner.started == [COLD]
    assert listens(layout.socket)


def test_a_daemon_that_listens_is_enough(layout: Layout, spawning: Spawning) -> None:
    """
    If a daemon listens already, nothing is started.
    """
    spawner = spawning(Spawner())

    with listening(layout.socket), locked(layout.daemon_lock):
        start_daemon(layout)

    assert spawner.started == []


def test_who_comes_second_waits_for_the_first(layout: Layout, spawning: Spawning) -> None:
    """
    A client waits while another one starts a daemon, and then uses that daemon.
    """
    spawner = spawning(Spawner())
    first = os.open(layout.start_lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(first, fcntl.LOCK_EX)
    inode = f":{os.fstat(first).st_ino} "

    second = threading.Thread(target=start_daemon, args=(layout,))
    second.start()
    # The kernel marks a process that waits for a lock with an arrow.
    eventually(
        lambda: any(
            "->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines()
        )
    )
    with listening(layout.socket), locked(layout.daemon_lock):
        os.close(first)
        second.join(_SECONDS)

    assert not second.is_alive()
    assert spawner.started == []


def test_the_directories_of_a_home_are_for_its_user_alone(
    missing: Layout, spawning: Spawning
) -> None:
    """
    A missing home is made, and nobody else may look into it.
    """
    spawning(Spawner())

    start_daemon(missing)

    for path in (missing.home, missing.run):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700


def test_a_home_that_cannot_be_made_is_named(missing: Layout, spawning: Spawning) -> None:
    """
    The error names the directory, for people and for programs.
    """
    spawner = spawning(Spawner())
    nowhere = missing._replace(home=f"{missing.home}/a/b")

    with pytest.raises(DaemonError, match=f"cannot make {nowhere.home}: No such file") as caught:
        start_daemon(nowhere)

    assert caught.value.details == {"path": nowhere.home}
    assert spawner.started == []


@pytest.mark.parametrize("word", [b"", b"0"])
def test_a_daemon_that_does_not_start_is_an_error(
    layout: Layout, spawning: Spawning, word: bytes
) -> None:
    """
    A pipe that closes without the right word means that the daemon failed; the log has the reason.
    """
    spawning(Spawner(word))

    with pytest.raises(DaemonError, match=f"did not start: see {layout.log}"):
        start_daemon(layout)


def test_a_daemon_that_says_nothing_is_an_error(
    layout: Layout, spawning: Spawning, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A daemon that neither listens nor ends is given up after a time.
    """
    monkeypatch.setattr(start, "_PATIENCE", 0.01)
    spawning(Spawner(silent=True))

    with pytest.raises(DaemonError, match="did not start"):
        start_daemon(layout)


def test_a_failed_start_can_be_repeated(layout: Layout, spawning: Spawning) -> None:
    """
    The next client is not kept waiting by one that failed.
    """
    spawning(Spawner(b""))
    with pytest.raises(DaemonError):
        start_daemon(layout)
    spawner = spawning(Spawner())

    start_daemon(layout)

    assert spawner.started == [COLD]


def test_a_start_leaves_no_descriptor_open(layout: Layout, spawning: Spawning) -> None:
    """
    The pipe, the lock and the sockets of a start are closed after it, also if it failed.
    """
    spawning(Spawner(b""))
    before = set(os.listdir("/proc/self/fd"))

    with pytest.raises(DaemonError):
        start_daemon(layout)

    assert set(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize(("word", "started"), [(b"1", True), (b"", False)])
def test_a_keeper_can_be_started_alone(
    layout: Layout, spawning: Spawning, word: bytes, *, started: bool
) -> None:
    """
    A keeper without a daemon says itself whether it listens.
    """
    spawner = spawning(Spawner(word))

    assert start_keeper(layout) is started
    assert spawner.started == [("agent_pty.keeper", {"daemon": False})]


# -- with a keeper


def test_a_keeper_of_our_build_forks_the_daemon(layout: Layout, spawning: Spawning) -> None:
    """
    A warm keeper is asked for a daemon, which gets the pipe; no process is started.
    """
    spawner = spawning(Spawner())

    with Keeper(layout, [OURS, {"pid": 2}]) as keeper:
        start_daemon(layout)

    assert keeper.asked == [HELLO, FORK]
    assert spawner.started == []


def test_a_forked_daemon_that_does_not_start_is_an_error(
    layout: Layout, spawning: Spawning
) -> None:
    """
    The pipe decides also for a daemon that the keeper has forked.
    """
    spawning(Spawner())

    with (
        Keeper(layout, [OURS, {"pid": 2}], word=b""),
        pytest.raises(DaemonError, match="did not start"),
    ):
        start_daemon(layout)


@pytest.mark.parametrize("hello", [{"build": "another"}, {}], ids=["another", "old"])
def test_beside_a_keeper_of_another_build_the_daemon_is_started_alone(
    layout: Layout, spawning: Spawning, hello: Body
) -> None:
    """
    A keeper of another build has other code loaded, so the daemon is a process of its own.
    """
    spawner = spawning(Spawner())

    with Keeper(layout, [hello]) as keeper:
        start_daemon(layout)

    assert keeper.asked == [HELLO]
    assert spawner.started == [("agent_pty.daemon", {})]


@pytest.mark.parametrize(
    "answers",
    [[None], [OURS, None], [OURS, {"error": {"reason": "no memory"}}]],
    ids=["hangs up at once", "hangs up", "cannot fork"],
)
def test_a_keeper_that_cannot_fork_is_replaced(
    layout: Layout, spawning: Spawning, answers: list[Body | None]
) -> None:
    """
    If the keeper does not give a daemon, keeper and daemon are started.
    """
    spawner = spawning(Spawner())

    with Keeper(layout, list(answers)):
        start_daemon(layout)

    assert spawner.started == [COLD]


# -- upgrades


def test_without_a_keeper_there_is_nothing_to_upgrade(layout: Layout) -> None:
    """
    An upgrade where no keeper listens does nothing.
    """
    upgrade_keeper(layout)

    assert os.listdir(layout.run) == []


def test_a_keeper_is_asked_to_become_our_build(layout: Layout) -> None:
    """
    The keeper gets our interpreter; that it hangs up then is its answer.
    """
    with Keeper(layout, [{"build": "another"}, None]) as keeper:
        upgrade_keeper(layout)

    assert keeper.asked == [HELLO, {"do": "upgrade", "command": [sys.executable, *isolation()]}]


def test_a_keeper_that_cannot_be_upgraded_says_why(layout: Layout) -> None:
    """
    The reason of the keeper is in the error.
    """
    refusal = {"error": {"reason": "no such program"}}

    with (
        Keeper(layout, [{"build": "another"}, refusal]),
        pytest.raises(DaemonError, match="cannot be upgraded: no such program"),
    ):
        upgrade_keeper(layout)


def test_an_old_keeper_is_ended_before_anything_else_happens(layout: Layout) -> None:
    """
    A keeper that knows no upgrade is stopped, and its lock is free when this returns.
    """
    with Keeper(layout, [{}, {}], lock=layout.keeper_lock) as keeper:
        upgrade_keeper(layout)
        left = keeper.left

    assert left
    assert keeper.asked == [HELLO, {"do": "stop"}]


# -- processes


@pytest.fixture
def interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of Python that prints its arguments, streams and environment."""
    script = tmp_path / "python"
    script.write_text(
        "#!/bin/sh\n"
        'printf "arg %s\\n" "$@"\n'
        'echo "stdin $(readlink /proc/self/fd/0)"\n'
        "echo to-stderr >&2\n"
        "env\n"
    )
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    return script


@pytest.mark.usefixtures("interpreter")
def test_a_process_of_ours_gets_its_layout_and_writes_to_the_log(layout: Layout) -> None:
    """
    It runs isolated, reads nothing, and both of its outputs are in the log.
    """
    start._spawn(layout, "agent_pty.keeper", {"daemon": True, "ready": 17})

    lines = Path(layout.log).read_text().splitlines()
    words = (
        f'{{"home": "{layout.home}", "socket": "{layout.socket}", "log_dir": "{layout.log_dir}", '
        '"daemon": true, "ready": 17}'
    )
    given = [line.removeprefix("arg ") for line in lines if line.startswith("arg ")]
    assert given == [*isolation(), "-m", "agent_pty.keeper", words]
    assert "stdin /dev/null" in lines
    assert "to-stderr" in lines


@pytest.mark.usefixtures("interpreter")
def test_a_process_of_ours_does_not_belong_to_the_session_that_started_it(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A daemon that was started within a session outlives that session, so it has no mark of it.
    """
    monkeypatch.setenv("AGENT_PTY_SESSION", "work")
    monkeypatch.setenv("AGENT_PTY_INSTANCE", "i1")
    monkeypatch.setenv("SOMETHING_ELSE", "stays")

    start._spawn(layout, "agent_pty.keeper", {})

    lines = Path(layout.log).read_text().splitlines()
    assert "SOMETHING_ELSE=stays" in lines
    assert not [line for line in lines if line.startswith(("AGENT_PTY_SESSION", "AGENT_PTY_INST"))]


@pytest.mark.usefixtures("interpreter")
@pytest.mark.parametrize(("base", "expected"), [("", []), ("/b", ["AGENT_PTY_SOCKET="])])
def test_trial_29_a_process_of_ours_names_its_own_socket_only(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, base: str, expected: list[str]
) -> None:
    """
    A daemon that was started within a session of another one has nothing to do with that one.
    """
    monkeypatch.setenv("AGENT_PTY_SOCKET", "/tmp/of-another-daemon.sock")

    start._spawn(layout._replace(base=base), "agent_pty.keeper", {})

    lines = Path(layout.log).read_text().splitlines()
    found = [line for line in lines if line.startswith("AGENT_PTY_SOCKET")]
    assert found == [f"{name}{layout.socket}" for name in expected]


@pytest.mark.parametrize(
    ("enabled", "within", "flags"),
    [
        (True, True, ["-E", "-P"]),
        (True, False, ["-I"]),
        (False, True, ["-I"]),
        (None, True, ["-I"]),
    ],
)
def test_isolation_hides_the_user_site_unless_we_are_in_it(
    monkeypatch: pytest.MonkeyPatch, flags: list[str], *, enabled: bool | None, within: bool
) -> None:
    """
    An installation in the user's own site directory must still be found.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(start.__file__)))
    monkeypatch.setattr(site, "USER_SITE", os.path.dirname(package) if within else "/nowhere")
    monkeypatch.setattr(site, "ENABLE_USER_SITE", enabled)

    assert isolation() == flags


# -- the log


@pytest.mark.parametrize(("size", "kept"), [(LARGEST_LOG, True), (LARGEST_LOG + 1, False)])
def test_a_large_log_starts_anew(layout: Layout, size: int, *, kept: bool) -> None:
    """
    A log of up to 4 MiB is continued, a larger one is emptied.
    """
    Path(layout.log).touch()
    os.truncate(layout.log, size)

    log = open_log(layout)
    os.write(log, b"new")
    os.close(log)

    assert os.path.getsize(layout.log) == (size if kept else 0) + len(b"new")


def test_the_log_is_for_its_user_alone(layout: Layout) -> None:
    """
    A new log cannot be read by others, and a link in its place is not followed.
    """
    os.close(open_log(layout))
    mode = stat.S_IMODE(os.stat(layout.log).st_mode)
    os.unlink(layout.log)
    os.symlink("/dev/null", layout.log)

    with pytest.raises(OSError, match="symbolic links"):
        open_log(layout)

    assert mode == 0o600


# -- who listens


def test_a_socket_without_a_listener_is_nobody(layout: Layout) -> None:
    """
    A missing socket and one that a dead process left are the same.
    """
    before = listens(layout.socket)
    with listening(layout.socket):
        during = listens(layout.socket)

    assert (before, during, listens(layout.socket)) == (False, True, False)
