"""Held execs outlive our processes: whoever dies, they wait, and are decided afterwards."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.agent import Agent, ended, eventually, slay
from support.guarded_agent import GuardedAgent
from support.journal import payloads

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel asks on Linux only")
TEN = "for i in 0 1 2 3 4 5 6 7 8 9; do rm -rf d$i & done; wait; echo all-done"


def directories(workspace: Path) -> list[str]:
    """Return those of the ten directories that are still there."""
    return sorted(one.name for one in workspace.glob("d?"))


@pytest.fixture
def ten(agent: Agent, tmp_path: Path) -> GuardedAgent:
    """A session in which ten programs wait for an approval."""
    for number in range(10):
        (tmp_path / f"d{number}").mkdir()
    guarded = GuardedAgent(agent, tmp_path)
    guarded.new("ten")
    assert guarded.run("ten", guarded.script("s.sh", TEN))["for"] == "approval"
    guarded.held(10)
    return guarded


def decide_all(guarded: GuardedAgent) -> None:
    """Deny the first and approve the others; the session ends as its script does."""
    requests = sorted(guarded.held(10), key=lambda one: str(one["command"]))
    guarded.deny(requests[0]["id"])
    for one in requests[1:]:
        guarded.approve(one["id"])
    eventually(lambda: directories(guarded.workspace) == ["d0"])
    eventually(lambda: "\nall-done\n" in guarded.agent.transcript("ten"))


@pytest.mark.parametrize("victim", ["ten", "keeper", "daemon"])
def test_guard_05_ten_held_execs_outlive_a_process_of_ours(ten: GuardedAgent, victim: str) -> None:
    """
    Kill -9 of the host, the keeper or the daemon: all ten are still held, and are decided.
    """
    slay(ten.agent.pid_of(victim))
    if victim == "keeper":
        eventually(lambda: ten.agent.pid_of("keeper") > 0)

    assert len(directories(ten.workspace)) == 10
    decide_all(ten)


def test_guard_05_they_outlive_one_after_the_other(ten: GuardedAgent) -> None:
    """
    The host, then the keeper, then the next host: what one has lost the other still has.
    """
    for victim in ("ten", "keeper", "ten"):
        pid = ten.agent.pid_of(victim)
        slay(pid)
        ended(pid)
        eventually(lambda: ten.agent.info("ten")["host_pid"] is not None)
        eventually(lambda: ten.agent.ask("status")["keeper_pid"] is not None)
        ten.held(10)

    decide_all(ten)


def test_an_upgrade_keeps_what_is_held(ten: GuardedAgent) -> None:
    """
    `restart --keep`: keeper, hosts and daemon run the build that is installed; the ten wait.
    """
    done = ten.agent.cli("restart", "--keep")

    assert done.returncode == 0, done.stderr
    decide_all(ten)


def test_a_guarded_session_goes_on_executing_after_a_death(agent: Agent, tmp_path: Path) -> None:
    """
    A loop that executes all the time loses no exec while its host is replaced.
    """
    guarded = GuardedAgent(agent, tmp_path)
    guarded.new("loop")
    script = "i=0; while [ $i -lt 400 ]; do /bin/true || echo bad-$i; i=$((i+1)); done; echo end"
    line = guarded.script("s.sh", script)

    with agent.begin("fire", id="loop", code=line) as answer:
        assert answer()["ok"]
    slay(agent.pid_of("loop"))
    agent.ask("doing", id="loop")  # answered by the next host

    agent.ask("wait", id="loop", until="prompt", timeout_ms=60_000)
    text = agent.transcript("loop")
    assert "bad-" not in text
    assert "\nend\n" in text
    assert payloads(agent, "loop", "host_recovered")
