"""Several daemons of one user: each has its socket, its home and its log directory."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_pty.store.log_dir import locate
from support.agent import Agent, ended, slay

BIN = os.path.dirname(sys.executable)


class Server:
    """A daemon in the foreground, and its clients."""

    def __init__(self, agent: Agent, process: subprocess.Popen[str], socket: str) -> None:
        self.process = process
        self.socket = socket
        self._agent = agent

    def cli(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `agent-pty` with the socket of this daemon."""
        return self._agent.cli(*words, "--socket", self.socket)

    def status(self) -> dict[str, Any]:
        """Return what the daemon says about itself."""
        found: dict[str, Any] = json.loads(self.cli("status", "--json").stdout)
        return found

    def new(self, name: str) -> int:
        """Start a session; return its pid."""
        made = self.cli("new", "--name", name, "--repo", "/tmp", "--shell", "/bin/sh", "--json")
        return int(json.loads(made.stdout)["pid"])

    def names(self) -> list[str]:
        """Return the names of the sessions."""
        return [one["id"] for one in json.loads(self.cli("list", "--json").stdout)]


@contextlib.contextmanager
def serving(agent: Agent, *words: str) -> Iterator[Server]:
    """Run `serve` and give it when it listens."""
    with agent.start("serve", *words) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("agent-pty listening on "), process.communicate()
        server = Server(agent, process, line.removeprefix("agent-pty listening on ").strip())
        try:
            yield server
        finally:
            server.cli("stop")
            process.kill()


def both(agent: Agent, name: str) -> list[str]:
    """Return the two options of a daemon of its own."""
    return ["--socket", f"{agent.home}/{name}.sock", "--log-dir", f"{agent.home}/{name}-logs"]


def test_trial_29_one_daemon_per_socket_and_log_directory(agent: Agent) -> None:
    """
    Each has its own sessions and its own index, beside the default daemon.
    """
    with serving(agent, *both(agent, "a")) as a, serving(agent, *both(agent, "b")) as b:
        a.new("first")
        b.new("second")
        agent.new("third", "/bin/cat")

        assert (a.names(), b.names()) == (["first"], ["second"])
        assert [one["id"] for one in agent.ask("list")] == ["third"]
        assert len({a.status()["home"], b.status()["home"], str(agent.home)}) == 3
        assert a.status()["log_dir"] == f"{agent.home}/a-logs"
    assert [one["id"] for one in agent.ask("list")] == ["third"]


def test_trial_29_daemons_that_start_themselves_stand_side_by_side(agent: Agent) -> None:
    """
    A command for another socket waits for no daemon but its own.
    """
    sockets = [f"{agent.home}/{name}" for name in "ab"]

    made = [agent.cli("new", "--name", "work", "--repo", "/tmp", "--socket", s) for s in sockets]
    agent.new("work", "/bin/cat")
    listed = [agent.cli("list", "--json", "--socket", s).stdout for s in sockets]

    assert [one.stdout for one in made] == ["created session work\n"] * 2
    instances = {json.loads(one)[0]["instance"] for one in listed}
    assert len(instances | {agent.info("work")["instance"]}) == 3


def test_trial_29_the_socket_alone_finds_the_daemon_after_a_crash(agent: Agent) -> None:
    """
    Daemon and keeper die at once; whoever gives the socket finds session and log directory.
    """
    with serving(agent, *both(agent, "a")) as server:
        shell = server.new("work")
        status = server.status()
        slay(status["pid"], status["keeper_pid"])

        found = json.loads(server.cli("list", "--json").stdout)

        assert [(one["id"], one["pid"], one["active"]) for one in found] == [("work", shell, True)]
        assert server.status()["log_dir"] == f"{agent.home}/a-logs"
        assert server.status()["home"] == status["home"]


def test_trial_29_two_paths_to_a_socket_lead_to_one_home(agent: Agent) -> None:
    """
    The home is the same whether the directory of the socket was named by a link or not.
    """
    (agent.home / "link").symlink_to(agent.home)
    direct, linked = (
        locate(agent.env, cwd="/", socket=f"{agent.home}{way}/a.sock") for way in ("", "/link")
    )
    assert direct.home == linked.home

    agent.cli("new", "--name", "work", "--repo", "/tmp", "--socket", direct.socket)
    status = json.loads(agent.cli("status", "--json", "--socket", direct.socket).stdout)
    slay(status["pid"], status["keeper_pid"])

    assert agent.cli("list", "--socket", linked.socket).stdout.startswith("work active=true")


def test_trial_29_a_log_directory_belongs_to_one_daemon(agent: Agent) -> None:
    """
    A second daemon is refused at once, in the foreground or not, and told who has it.
    """
    logs = f"{agent.home}/a-logs"
    with serving(agent, *both(agent, "a")) as server:
        second = agent.cli("serve", "--socket", f"{agent.home}/b.sock", "--log-dir", logs)

        assert second.returncode == 1
        assert second.stderr == (
            f"error: {logs} is used by the daemon at {server.socket}: choose another --log-dir\n"
        )
        assert server.names() == []
    with serving(agent, "--socket", f"{agent.home}/b.sock", "--log-dir", logs) as server:
        assert server.status()["log_dir"] == logs


def test_trial_29_a_home_keeps_its_log_directory_while_there_are_sessions(agent: Agent) -> None:
    """
    Sessions that a daemon left are not continued in another place.
    """
    with serving(agent, *both(agent, "a")) as server:
        server.new("work")
        assert server.cli("stop", "--keep").stdout == "stopped\n"
        server.process.wait()

        other = agent.cli("serve", "--socket", server.socket, "--log-dir", f"{agent.home}/c")

        assert other.returncode == 1
        assert f"use the log directory {agent.home}/a-logs" in other.stderr
        assert server.names() == ["work"]


def test_trial_29_a_log_directory_alone_has_a_daemon_of_its_own(agent: Agent) -> None:
    """
    The socket follows from the directory, and is printed; two directories have two daemons.
    """
    logs = [f"{agent.home}/{name}-logs" for name in "ab"]
    with (
        serving(agent, "--log-dir", logs[0]) as a,
        serving(agent, "--log-dir", logs[1]) as b,
    ):
        a.new("first")

        assert a.socket != b.socket
        assert (a.names(), b.names()) == (["first"], [])
        assert [one.status()["log_dir"] for one in (a, b)] == logs


def test_trial_29_the_log_directory_alone_finds_the_daemon_that_has_it(agent: Agent) -> None:
    """
    A daemon that was given socket and directory is found by either.
    """
    with serving(agent, *both(agent, "a")) as server:
        said = agent.cli("doctor", "--json", "--log-dir", f"{agent.home}/a-logs")

        report = json.loads(said.stdout)
        assert (report["daemon_running"], report["socket"]) == (True, server.socket)


def test_trial_29_programs_in_a_session_talk_to_its_daemon(agent: Agent) -> None:
    """
    `k` inside a session reaches the daemon of that session, not the default one.
    """
    with serving(agent, *both(agent, "a")) as server:
        server.new("outer")

        said = server.cli("run", "outer", f"{BIN}/k ls")

        assert said.stdout.startswith("outer ")


def test_trial_29_sessions_of_another_daemon_are_no_orphans(agent: Agent) -> None:
    """
    `doctor` looks at one daemon and its sessions; what belongs to others it leaves alone.
    """
    agent.new("mine", "/bin/cat")
    with serving(agent, *both(agent, "a")) as server:
        server.new("theirs")

        assert agent.cli("doctor").returncode == 0
        assert server.cli("doctor").returncode == 0


def test_trial_29_a_daemon_that_nobody_uses_ends(agent: Agent) -> None:
    """
    It ends by itself with everything of ours, and the next command starts another.
    """
    agent.env["AGENT_PTY_IDLE"] = "200ms"
    agent.cli("new", "--name", "work", "--", "/bin/cat")  # at once: a daemon alone ends soon
    daemon, keeper = agent.pid_of("daemon"), agent.pid_of("keeper")
    agent.ask("kill", id="work")

    ended(daemon)
    ended(keeper)

    assert agent.processes() == []
    assert not Path(agent.layout.socket).exists()
    assert agent.cli("new", "--name", "again", "--", "/bin/cat").returncode == 0
    assert agent.pid_of("daemon") != daemon


def test_trial_29_a_daemon_in_use_does_not_end(agent: Agent) -> None:
    """
    A connected client keeps it: the daemon ends only after the client has hung up.
    """
    agent.env["AGENT_PTY_IDLE"] = "2s"  # enough to connect in, whatever else runs
    with agent.connect() as connection:
        uptime = 0
        while uptime < 4:  # twice as long
            uptime = connection.ask("status")["uptime_s"]
        daemon = connection.ask("status")["pid"]

    ended(daemon)


def test_trial_29_serve_stays(agent: Agent) -> None:
    """
    A daemon that a person started is ended by a person.
    """
    agent.env["AGENT_PTY_IDLE"] = "1ms"
    with serving(agent, *both(agent, "a")) as server, serving(agent, *both(agent, "b")) as other:
        other.new("work")

        assert server.status()["running"]
        assert server.process.poll() is None
