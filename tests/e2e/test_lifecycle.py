"""Beginnings and ends of the daemon, rows LIF-* of the reliability contract."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.agent import Agent, alive, ended, eventually, slay
from support.counts import counts
from support.person import human
from support.raw_socket import exchange, wire

# What `stop` and SIGTERM may take: the daemon gives its hosts ten seconds, and then goes.
STOP_SECONDS = 15.0


def ready(agent: Agent) -> subprocess.Popen[str]:
    """Start `serve` and return it when it listens."""
    server = agent.start("serve")
    assert server.stdout is not None
    assert server.stdout.readline() == f"agent-pty listening on {agent.layout.socket}\n"
    return server


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a command and return its status and what it said on standard error."""
    _, said = process.communicate(timeout=60)
    return process.returncode, said


def state_of(home: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of change of every file in a home."""
    found = {str(path): path.lstat() for path in sorted(home.rglob("*"))}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


# -- one daemon


def test_lif_01_a_killed_daemon_is_replaced(agent: Agent) -> None:
    """
    After SIGKILL the old socket is in the way of nobody, and sessions are listed as they are.
    """
    agent.new("runs", "/bin/cat")
    agent.new("ended", "/bin/sh", "-c", "exit 3")
    agent.ask("wait", id="ended", until="exit")
    pid = agent.info("runs")["pid"]
    slay(agent.pid_of("daemon"))
    assert Path(agent.layout.socket).is_socket()

    listed = agent.cli("list")

    assert listed.returncode == 0
    assert f"runs active=true pid={pid} " in listed.stdout
    assert listed.stdout.splitlines()[0].endswith("exit=3")
    assert alive(pid)


def test_lif_01_a_socket_somebody_listens_at_is_never_replaced(agent: Agent) -> None:
    """
    `serve` probes what is at its path: a living listener stays, and is named as the reason.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
        stranger.bind(agent.layout.socket)
        stranger.listen()
        inode = os.stat(agent.layout.socket).st_ino

        status, said = finish(agent.start("serve"))

        assert status == 1
        assert said == f"error: a daemon is already listening at {agent.layout.socket}\n"
        assert os.stat(agent.layout.socket).st_ino == inode


def test_lif_01_a_file_in_place_of_the_socket_is_not_removed(agent: Agent) -> None:
    """
    What is no socket is not ours: `serve` refuses and the file keeps its content.
    """
    precious = Path(agent.layout.socket)
    precious.write_text("precious")

    status, said = finish(agent.start("serve"))

    assert status == 1
    assert said.startswith(f"error: {precious} is there and is no socket")
    assert precious.read_text() == "precious"


@counts(3, 10)
def test_lif_03_of_two_servers_exactly_one_wins(agent: Agent, count: int) -> None:
    """
    Ten times two `serve` start at once: one listens, the other says why it does not.
    """
    # A session keeps the keeper, so that a round costs no more than the race.
    agent.new("kept", "/bin/cat")
    agent.cli("stop", "--keep")
    for _ in range(count):
        pair = [agent.start("serve"), agent.start("serve")]

        loser = first_to_end(pair)
        (winner,) = [server for server in pair if server is not loser]

        assert finish(loser) == (1, f"error: a daemon is already running for {agent.home}\n")
        assert winner.stdout is not None
        assert winner.stdout.readline() == f"agent-pty listening on {agent.layout.socket}\n"
        assert agent.cli("stop", "--keep").stdout == "stopped\n"
        assert finish(winner) == (0, "")


def first_to_end(processes: list[subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """Return the process that ends first."""
    by_handle = {os.pidfd_open(process.pid): process for process in processes}
    poll = select.poll()
    for handle in by_handle:
        poll.register(handle, select.POLLIN)
    ended = poll.poll(60_000)
    for handle in by_handle:
        os.close(handle)
    return by_handle[ended[0][0]]


@pytest.mark.parametrize("killed", [False, True], ids=["fresh", "after-a-crash"])
def test_many_first_clients_start_one_daemon(agent: Agent, killed: bool) -> None:  # noqa: FBT001  given by pytest
    """
    Twenty clients that find no daemon start one between them, and all are answered.
    """
    if killed:
        agent.new("survivor", "/bin/cat")
        slay(agent.pid_of("daemon"))

    clients = [agent.start("list") for _ in range(20)]

    assert {finish(client) for client in clients} == {(0, "")}
    pids = {agent.ask("status")["pid"] for _ in range(3)}
    assert len(pids) == 1
    assert len(roles(agent)) == 2 + killed


def roles(agent: Agent) -> list[int]:
    """Return the processes of ours: keeper, daemon, hosts; not the sessions."""
    sessions = {one["pid"] for one in agent.ask("list")}
    return [pid for pid in agent.processes() if pid not in sessions]


# -- the end


@pytest.mark.serial
def test_lif_04_sigterm_ends_every_session(agent: Agent) -> None:
    """
    SIGTERM means `stop`: twenty sessions end within the documented time, and nothing is left.
    """
    for number in range(20):
        agent.new(f"s{number}", "/bin/cat")
    daemon = agent.pid_of("daemon")
    begun = time.monotonic()

    slay(daemon, by=signal.SIGTERM)

    assert time.monotonic() - begun < STOP_SECONDS
    assert agent.processes() == []
    assert not Path(agent.layout.socket).exists()
    assert all(name.endswith(".lock") for name in os.listdir(agent.layout.run))


def test_lif_04_the_stubborn_end_too(agent: Agent) -> None:
    """
    A session that ignores every polite signal ends with the daemon all the same.
    """
    agent.new("mule", "/bin/sh", "-c", "trap '' HUP TERM INT; echo up; while :; do sleep 1; done")
    agent.ask("wait", id="mule", until="up")

    slay(agent.pid_of("daemon"), by=signal.SIGTERM)

    assert agent.processes() == []


def test_trial_14_a_host_that_is_forked_late_does_not_survive(agent: Agent) -> None:
    """
    A host that the keeper forks while the daemon stops is ended like all others.
    """
    agent.new("work", "/bin/cat")
    keeper, daemon = agent.pid_of("keeper"), agent.pid_of("daemon")

    os.kill(keeper, signal.SIGSTOP)
    try:
        with (
            agent.connect_if_running() as other,
            agent.begin("new", id="late", repo="/tmp", argv=["/bin/cat"], isolate=True),
        ):
            agent.ask("screen", id="work")  # so the daemon has asked the keeper for a host
            with agent.begin("shutdown") as answer:
                other.ask("status")  # so the daemon has begun to stop
                os.kill(keeper, signal.SIGCONT)
                assert answer()["ok"]
            ended(daemon)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGCONT)

    assert agent.processes() == []


def test_lif_04_the_index_is_saved(agent: Agent) -> None:
    """
    What ran when the daemon was told to stop can be read in the index afterwards.
    """
    agent.new("remembered", "/bin/cat")

    slay(agent.pid_of("daemon"), by=signal.SIGTERM)

    index = json.loads(Path(agent.layout.session_index).read_text())
    assert [one["id"] for one in index] == ["remembered"]


def test_a_wait_is_told_when_the_daemon_stops(agent: Agent) -> None:
    """
    Who waits while the daemon stops gets an answer, not a closed connection.
    """
    agent.new("doomed", "/bin/cat")

    with agent.begin("wait", id="doomed", until="never", timeout_ms=60_000) as answer:
        agent.ask("screen", id="doomed")
        agent.cli("stop")

        assert answer()["code"] in ("exited", "host_lost")


def test_serve_ends_with_ctrl_c(agent: Agent) -> None:
    """
    `serve` in the foreground obeys Ctrl-C and leaves nothing.
    """
    server = ready(agent)
    agent.new("short", "/bin/cat")

    server.send_signal(signal.SIGINT)

    assert finish(server) == (0, "")
    assert agent.processes() == []


_ON_A_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_lif_06_the_daemon_outlives_the_terminal_it_was_started_from(agent: Agent) -> None:
    """
    When the terminal of the first client closes, daemon and session go on.
    """
    master, slave = os.openpty()
    client = f"{sys.executable} -m agent_pty.cli.main new --name tough --repo /tmp -- /bin/cat"
    script = f"{client}; echo all-$((1+1)); exec cat"
    shell = subprocess.Popen(
        [sys.executable, "-c", _ON_A_TERMINAL, "/bin/sh", "-c", script],
        env=agent.env,
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    read_until(master, b"all-2")
    daemon, session = agent.pid_of("daemon"), agent.info("tough")["pid"]

    os.close(master)
    shell.wait(timeout=60)

    assert shell.returncode == -signal.SIGHUP
    assert agent.pid_of("daemon") == daemon
    assert alive(session)


def read_until(terminal: int, sign: bytes) -> None:
    """Read what is shown until *sign* is."""
    shown = b""
    while sign not in shown:
        shown += os.read(terminal, 4096)


# -- faults

_FAULTY = """
import sys
from agent_pty import ops
from agent_pty.core.layout import Layout
from agent_pty.daemon.serve import run
from agent_pty.ops.op import Op, Request

class Trip(Request, frozen=True, kw_only=True):
    id: str | None = None

async def trip(_context, _request):
    raise ZeroDivisionError("secret of the inside")

for where in ("daemon", "session"):
    name = f"trip_{where}"
    ops.TABLE[name] = Op(name=name, answer=name, request=Trip, where=where, handler=trip)
home, socket, log_dir = sys.argv[1:]
run(Layout(home=home, socket=socket, log_dir=log_dir), on_listening=lambda: print("up", flush=True))
"""


@pytest.mark.parametrize("where", ["daemon", "session"])
def test_lif_08_an_exception_in_a_handler_is_one_clients_error(agent: Agent, where: str) -> None:
    """
    A mistake of ours is told to who met it, in no detail, and to nobody else.
    """
    # The host inside the daemon, so that the planted op is known in both places.
    agent.env["AGENT_PTY_ISOLATION"] = "off"
    words = agent.layout.to_wire().values()
    faulty = subprocess.Popen(
        [sys.executable, "-c", _FAULTY, *words], env=agent.env, stdout=-1, stderr=-1, text=True
    )
    assert faulty.stdout is not None
    assert faulty.stdout.readline() == "up\n"
    agent.new("bystander", "/bin/cat")

    with wire(agent) as other, wire(agent) as unlucky:
        unlucky.post(f"trip_{where}", id="bystander")
        envelope = unlucky.answer()
        unlucky.post("status")
        other.post("screen", id="bystander")

        assert envelope["code"] == "internal"
        assert "secret" not in json.dumps(envelope)
        assert unlucky.answer()["ok"] is True
        assert other.answer()["ok"] is True
    agent.cli("stop")
    assert "ZeroDivisionError: secret of the inside" in finish(faulty)[1]


# -- again and again


@counts(4, 20)
def test_lif_10_twenty_restarts_leak_nothing(agent: Agent, count: int) -> None:
    """
    Around two sessions the daemon restarts twenty times: files, processes, descriptors are flat.
    """
    for name in ("a", "b"):
        agent.new(name, "/bin/cat")
    agent.cli("restart", "--keep")
    pids = [one["pid"] for one in agent.ask("list")]
    before = footprint(agent)

    for _ in range(count):
        assert agent.cli("restart", "--keep").stdout == "restarted: 2 session(s)\n"

    eventually(lambda: footprint(agent) == before)
    assert [one["pid"] for one in agent.ask("list")] == pids


def footprint(agent: Agent) -> dict[str, object]:
    """Return what a restart might leak: files in `run` and their size, processes, descriptors."""
    status = agent.ask("status")
    hosts = sorted(host["pid"] for host in status["hosts"])
    ours = [status["pid"], status["keeper_pid"], *hosts]
    run = Path(agent.layout.run)
    return {
        "files": sorted(str(path) for path in run.rglob("*")),
        "bytes": sum(path.lstat().st_size for path in run.rglob("*")),
        "processes": len(agent.processes()),
        "hosts": hosts,
        "descriptors": [len(os.listdir(f"/proc/{pid}/fd")) for pid in ours],
    }


def test_a_restart_without_keep_is_a_new_beginning(agent: Agent) -> None:
    """
    Restarts that end their sessions leave `run` as small as the first.
    """
    sizes = []
    for _ in range(3):
        agent.new("brief", "/bin/cat")
        assert agent.cli("restart").stdout == "restarted: 0 session(s)\n"
        sizes.append(sorted(os.listdir(agent.layout.run)))

    assert all(size == sizes[0] for size in sizes)
    assert os.listdir(agent.layout.sessions) == []


def test_restart_without_a_daemon_starts_one(agent: Agent) -> None:
    """
    `restart` says that there was none and succeeds.
    """
    said = agent.cli("restart")

    assert (said.returncode, said.stderr) == (0, "no daemon was running\n")
    first, *_ = agent.cli("status").stdout.splitlines()
    assert first == "agent-pty daemon running: 0 session(s)"


# -- versions


@pytest.mark.parametrize("found", ["2", "99", "banana", ""])
def test_lif_12_a_home_of_a_later_version_is_refused(agent: Agent, found: str) -> None:
    """
    A format that this version does not know is named, and nothing in the home is touched.
    """
    Path(agent.layout.format).write_text(f"{found}\n")
    before = state_of(agent.home)

    said = [agent.cli("list"), agent.cli("new"), agent.cli("restart")]
    served = finish(agent.start("serve"))

    message = f"error: {agent.layout.format} says format {found!r}, this version knows up to 1: "
    assert {one.returncode for one in said} == {1}
    assert all(message in one.stderr for one in said)
    assert served[0] == 1
    assert served[1].startswith(message)
    assert state_of(agent.home) == before
    assert agent.processes() == []


@pytest.mark.parametrize("version", [0, 2, 99])
def test_lif_13_a_client_of_another_version_is_told_what_to_do(agent: Agent, version: int) -> None:
    """
    Client and daemon that do not understand each other say so, with the remedy.
    """
    agent.connect().close()

    envelope = exchange(agent, json.dumps({"op": "list", "v": version}).encode())

    assert envelope["code"] == "version_mismatch"
    assert envelope["details"] == {"daemon": 1, "client": version}
    assert "run `agent-pty restart --keep`" in envelope["error"]


# -- status and stop


def test_status_of_nothing_is_an_answer(agent: Agent) -> None:
    """
    `status` succeeds when nothing runs, says why it thinks so, and starts nothing.
    """
    said = agent.cli("status", "--json")

    status = json.loads(said.stdout)
    assert (said.returncode, said.stderr) == (0, "")
    assert list(status)[:5] == ["socket", "running", "session_count", "trace_path", "error"]
    assert (status["running"], status["pid"], status["session_count"]) == (False, None, 0)
    assert status["error"].startswith(f"connect to {agent.layout.socket}: ")
    assert list(agent.home.iterdir()) == []
    assert agent.cli("status").stdout == f"agent-pty daemon not running: {status['error']}\n"


def test_status_of_a_daemon_has_its_pid(agent: Agent) -> None:
    """
    A running daemon gives its pid, its sessions and its hosts.
    """
    agent.new("one", "/bin/cat")
    agent.new("two", "/bin/cat")

    status = json.loads(agent.cli("status", "--json").stdout)

    command = Path(f"/proc/{status['pid']}/cmdline").read_bytes()
    assert (status["running"], status["error"], status["session_count"]) == (True, None, 2)
    assert b"agent_pty" in command
    assert sum(host["sessions"] for host in status["hosts"]) == 2
    first, *_ = agent.cli("status").stdout.splitlines()
    assert first == "agent-pty daemon running: 2 session(s)"


def test_trial_25_status_shows_pid_uptime_and_hosts(agent: Agent) -> None:
    """
    People see in `status` which process the daemon is, for how long it runs, and its hosts.
    """
    agent.new("one", "/bin/cat")

    lines = agent.cli("status").stdout.splitlines()

    [host] = agent.ask("status")["hosts"]
    assert lines[0] == "agent-pty daemon running: 1 session(s)"
    assert lines[1] == f"trace log: {agent.layout.traces}"
    assert re.fullmatch(rf"pid {agent.pid_of('daemon')}, up \d+s", lines[2])
    assert lines[3] == f"host {host['name']}: pid {host['pid']}, 1 session(s)"
    assert len(lines) == 4


def test_stop_without_a_daemon_says_whom_it_did_not_reach(agent: Agent) -> None:
    """
    `stop` needs a daemon: without one it fails with the contract's words.
    """
    said = agent.cli("stop")

    assert said.returncode == 1
    assert said.stderr == f"error: connect to {agent.layout.socket}: No such file or directory\n"


def test_trial_25_a_second_stop_says_not_running(agent: Agent) -> None:
    """
    A person is told in plain words that there is no daemon to stop; the status stays 1.
    """
    agent.connect().close()
    agent.cli("stop")

    with human(agent, "stop") as person:
        assert person.leaves() == 1

    assert person.seen == f"error: not running: no daemon at {agent.layout.socket}\r\n".encode()


# -- list


def test_trial_25_list_of_nothing_starts_nothing(agent: Agent) -> None:
    """
    Where no daemon runs and none has left anything, `list` answers by itself.
    """
    piped, as_json = agent.cli("list"), agent.cli("list", "--json")
    with human(agent, "list") as person:
        assert person.leaves() == 0

    assert (piped.returncode, piped.stdout, piped.stderr) == (0, "", "")
    assert (as_json.returncode, as_json.stdout) == (0, "[]\n")
    assert person.seen == b"no sessions\r\n"
    assert agent.processes() == []
    assert agent.cli("list", "surplus").returncode == 2


def test_trial_25_list_of_nothing_says_so_where_a_daemon_runs(agent: Agent) -> None:
    """
    A person who asks for the sessions reads that there are none; a pipe gets no line.
    """
    agent.connect().close()

    with human(agent, "list") as person:
        assert person.leaves() == 0

    assert person.seen == b"no sessions\r\n"
    assert agent.cli("list").stdout == ""


def test_trial_25_list_finds_what_a_stopped_daemon_has_left(agent: Agent) -> None:
    """
    Sessions that were kept are listed, by a daemon that is started for it.
    """
    agent.new("kept", "/bin/cat")
    agent.cli("stop", "--keep")

    assert agent.cli("list").stdout.startswith("kept active=true ")


def test_a_daemon_that_is_known_by_its_socket_alone_is_stopped(
    agent: Agent, tmp_path: Path
) -> None:
    """
    Its home is another one than follows from the path of the socket.
    """
    agent.new("work", "cat")
    other = Agent(tmp_path)

    done = other.cli("--socket", agent.layout.socket, "stop")

    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped\n", "")
