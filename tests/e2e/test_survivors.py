"""What `kill` and `stop` must find, wherever it hides, and what they must leave alone."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from agent_pty.process import table
from support.agent import Agent, alive, eventually, running, slay
from support.chain import Chain
from support.http import serving

LONG = 60_000
# Nobody else sleeps for so long: by this number a test knows its own.
_naps = itertools.count(41_000_000 + os.getpid() * 100)
HIDDEN = "env -i setsid sleep {} >/dev/null 2>&1 </dev/null &"
# Nothing of its session is left: no environment, no terminal, no limit that it inherited.
UNKNOWN = (
    "setsid env -i {python} -I -S -c 'import os, resource\n"
    "resource.setrlimit(10, (-1, -1))\n"
    'os.execvp("sleep", ["sleep", "{nap}"])\' >/dev/null 2>&1 </dev/null &'
)


@pytest.fixture
def nap() -> Iterator[str]:
    """Give a number of seconds that only this test sleeps for."""
    seconds = str(next(_naps))
    yield seconds
    for pid in running("sleep", seconds):
        slay(pid)


def hide(agent: Agent, session: str, command: str, nap: str) -> int:
    """Run a command in a shell and return the sleeper that it left to the keeper."""
    agent.ask("send", id=session, text=command)
    keeper = agent.pid_of("keeper")

    def adopted() -> list[int]:
        found = [table.entry(pid) for pid in running("sleep", nap)]
        return [one.pid for one in found if one is not None and one.ppid == keeper]

    eventually(lambda: bool(adopted()))
    return adopted()[0]


def pids(processes: list[dict[str, Any]]) -> list[int]:
    """Return who that is."""
    return [process["pid"] for process in processes]


def test_trial_06_a_process_that_hid_everything_is_ended(agent: Agent, nap: str) -> None:
    """
    Without environment, terminal, kernel session and parent it still belongs to its session.
    """
    agent.new("work")
    sleeper = hide(agent, "work", HIDDEN.format(nap), nap)

    killed = agent.ask("kill", id="work")

    assert sleeper in pids(killed["ended"])
    assert (killed["survivors"], killed["possible_survivors"]) == ([], [])
    assert not alive(sleeper)


def test_trial_06_what_a_neighbour_hid_is_not_touched(agent: Agent, nap: str) -> None:
    """
    A hidden process of another session is neither ended nor named.
    """
    agent.new("other")
    sleeper = hide(agent, "other", HIDDEN.format(nap), nap)
    agent.new("work")

    killed = agent.ask("kill", id="work")

    assert alive(sleeper)
    assert (killed["survivors"], killed["possible_survivors"]) == ([], [])


def test_trial_06_an_orphan_of_no_session_may_be_a_survivor(agent: Agent, nap: str) -> None:
    """
    A process below the keeper that cannot be attributed is named as what it is: a possibility.
    """
    agent.new("work")
    agent.new("other", "cat")
    sleeper = hide(agent, "work", UNKNOWN.format(python=sys.executable, nap=nap), nap)

    killed = agent.cli("kill", "work", "--json")

    assert killed.returncode == 0
    report = json.loads(killed.stdout)
    assert report["survivors"] == []
    assert pids(report["possible_survivors"]) == [sleeper]
    assert f"possible survivor: {sleeper} sleep {nap}" in killed.stderr
    assert alive(sleeper)


def test_trial_06_stop_ends_an_orphan_of_no_session(agent: Agent, nap: str) -> None:
    """
    Everything below the keeper is ours, and after `stop` it is gone.
    """
    agent.new("work")
    sleeper = hide(agent, "work", UNKNOWN.format(python=sys.executable, nap=nap), nap)
    agent.ask("kill", id="work")

    stopped = agent.cli("stop")

    assert (stopped.returncode, stopped.stdout) == (0, "stopped\n")
    assert not alive(sleeper)


@pytest.mark.parametrize("manner", ["together", "apart"])
@pytest.mark.parametrize("way", ["kill", "stop"])
def test_trial_06_a_chain_of_short_lived_processes_is_caught(
    agent: Agent, tmp_path: Path, way: str, manner: Literal["together", "apart"]
) -> None:
    """
    Processes that fork and exit faster than the table can be read are frozen, then killed.
    """
    chain = Chain(tmp_path, manner)
    agent.new("work", "bash", "-c", f"{chain.command} & read x")
    chain.wait_until_alive()
    agent.new("other", "cat")
    try:
        if way == "kill":
            assert agent.ask("kill", id="work")["survivors"] == []
            assert agent.info("other")["state"] == "running"
        else:
            assert agent.cli("stop").returncode == 0

        assert not chain.alive()
    finally:
        chain.end()


def test_trial_06_a_chain_of_no_session_is_named_and_ended_by_stop(
    agent: Agent, tmp_path: Path
) -> None:
    """
    A chain that cannot be attributed is a possible survivor of `kill`, and `stop` catches it.
    """
    chain = Chain(tmp_path, "unknown")
    agent.new("work", "bash", "-c", f"{chain.command} & read x")
    chain.wait_until_alive()
    try:
        killed = agent.ask("kill", id="work")

        assert killed["survivors"] == []
        # The link that was seen may have ended before its command line was read.
        assert re.search(r"chain\.py|^\[python", killed["possible_survivors"][0]["command"])
        assert chain.alive()
        assert agent.cli("stop").returncode == 0
        assert not chain.alive()
    finally:
        chain.end()


# -- what is not ours


@pytest.fixture
def tmux(agent: Agent) -> Iterator[list[str]]:
    """Give the command for a tmux server of this test alone."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    command = ["tmux", "-f", "/dev/null", "-S", str(agent.home / "tmux")]
    yield command
    subprocess.run([*command, "kill-server"], check=False, capture_output=True)


def start_tmux(agent: Agent, tmux: list[str], nap: str) -> int:
    """Start a tmux server inside a session, with a program and an orphan; return its pid."""
    agent.new("work")
    pane = f"(setsid sleep {nap} &); exec sleep {nap}"
    agent.ask("send", id="work", text=f"{' '.join(tmux)} new-session -d '{pane}'")
    keeper = agent.pid_of("keeper")

    def parents() -> list[int]:
        found = [table.entry(pid) for pid in running("sleep", nap)]
        return sorted((one.ppid for one in found if one is not None), key=lambda pid: pid == keeper)

    eventually(lambda: parents()[1:] == [keeper])
    return parents()[0]


@pytest.mark.parametrize("way", ["kill", "stop"])
def test_trial_06_a_tmux_server_is_spared_and_named(
    agent: Agent, tmux: list[str], nap: str, way: str
) -> None:
    """
    A tmux server that was started inside a session lives on with everything in it.
    """
    server = start_tmux(agent, tmux, nap)

    done = agent.cli(way, *(["work"] if way == "kill" else []), "--json")

    assert done.returncode == 0
    assert server in pids(json.loads(done.stdout)["spared"])
    assert f"not ended: {server} tmux" in done.stderr
    assert alive(server)
    assert len(running("sleep", nap)) == 2


@pytest.mark.parametrize("way", ["kill", "stop"])
def test_trial_06_a_daemon_in_the_foreground_of_a_session_is_spared_and_named(
    agent: Agent, tmp_path: Path, way: str
) -> None:
    """
    `serve` for another home goes on although its terminal is gone.
    """
    inner = Agent(tmp_path / "in")
    agent.new("work")
    command = f"env AGENT_PTY_HOME={inner.home} {Path(sys.executable).parent}/agent-pty serve"
    agent.ask("send", id="work", text=command)
    agent.ask("wait", id="work", until="agent-pty listening", timeout_ms=LONG)
    try:
        daemon = inner.pid_of("daemon")

        done = agent.cli(way, *(["work"] if way == "kill" else []), "--json")

        assert done.returncode == 0
        assert daemon in pids(json.loads(done.stdout)["spared"])
        assert inner.pid_of("daemon") == daemon
    finally:
        inner.cli("stop")
        inner.reap()


@pytest.mark.parametrize("way", ["kill", "stop"])
def test_trial_06_the_processes_of_another_home_are_spared_and_named(
    agent: Agent, tmp_path: Path, nap: str, way: str
) -> None:
    """
    A daemon of another home that was started inside a session lives on with its sessions.
    """
    inner = Agent(tmp_path / "in")
    agent.new("work")
    start = f"new --name inner --repo /tmp -- sleep {nap}"
    command = f"env AGENT_PTY_HOME={inner.home} {Path(sys.executable).parent}/agent-pty {start}"
    agent.ask("send", id="work", text=command)
    agent.ask("wait", id="work", until="created session inner", timeout_ms=LONG)
    try:
        before = inner.info("inner")
        keeper, daemon = inner.pid_of("keeper"), inner.pid_of("daemon")

        done = agent.cli(way, *(["work"] if way == "kill" else []), "--json")

        assert done.returncode == 0
        assert (inner.pid_of("keeper"), inner.pid_of("daemon")) == (keeper, daemon)
        assert inner.info("inner")["pid"] == before["pid"]
        if way == "stop":
            assert keeper in pids(json.loads(done.stdout)["spared"])
        assert json.loads(done.stdout).get("possible_survivors", []) == []
    finally:
        inner.cli("stop")
        inner.reap()


def test_trial_03_the_gateway_is_no_possible_survivor(agent: Agent) -> None:
    """
    The process behind HTTP and MCP is ours, and no `kill` names it as left by a session.
    """
    agent.new("work")

    with serving(agent):
        killed = agent.ask("kill", id="work")

    assert (killed["survivors"], killed["possible_survivors"]) == ([], [])
