"""The pytest plugin, in a test run of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.agent import Agent, alive

USED = """
import os

def test_screen(agent_pty):
    session = agent_pty.new("bash --norc", env={"PS1": "> "})
    session.run("echo hallo")
    print("PID", session.pid, agent_pty.status()["pid"], agent_pty.socket)
    session.expect_screen("hello", timeout=0)

def test_reaped(agent_pty):
    assert agent_pty.list() == []
    agent_pty.new("bash", id="first").rename("second")
    agent_pty.exec("sleep 60", timeout_ms=1)

def test_reaped_again(agent_pty):
    assert agent_pty.list() == []
"""
UNUSED = """
import sys

def test_nothing_is_loaded():
    loaded = {"agent_pty.api.client", "agent_pty.ops", "msgspec"} & sys.modules.keys()
    assert not loaded
"""
OWN = """
import pytest

@pytest.fixture(scope="session")
def agent_pty_home():
    return None
"""
KEPT = """
def test_user(agent_pty):
    assert [one.id for one in agent_pty.list()] == ["mine"]
    agent_pty.new("bash", id="theirs")
"""


def run(place: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the tests of a directory as a user would."""
    words = [sys.executable, "-m", "pytest", "-c", "/dev/null", "-W", "error", "-v", str(place)]
    return subprocess.run(
        words,
        cwd=place,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_sessions_are_reaped_and_the_daemon_with_them(tmp_path: Path) -> None:
    """
    After each test its sessions, after all tests their daemon; a failure shows the screen.
    """
    (tmp_path / "test_used.py").write_text(USED)

    done = run(tmp_path)

    assert "1 failed, 2 passed" in done.stdout
    assert "not on the screen: 'hello'" in done.stdout
    assert "session.expect_screen(" in done.stdout
    assert "def expect_screen" not in done.stdout  # our own lines are hidden
    line = next(line for line in done.stdout.splitlines() if line.startswith("PID"))
    _, program, daemon, socket = line.split()
    assert not alive(int(program))
    assert not alive(int(daemon))
    assert not Path(socket).parent.exists()


def test_a_run_without_it_pays_nothing(tmp_path: Path) -> None:
    """
    The plugin is there, and neither the client nor its types are loaded.
    """
    (tmp_path / "test_unused.py").write_text(UNUSED)

    done = run(tmp_path)

    assert "1 passed" in done.stdout
    assert "agent-pty-" in done.stdout.partition("plugins:")[2].partition("\n")[0]


def test_the_user_may_have_their_own_daemon_used(agent: Agent, tmp_path: Path) -> None:
    """
    Then only the sessions of the tests are reaped, and it is not stopped.
    """
    agent.new("mine")
    (tmp_path / "conftest.py").write_text(OWN)
    (tmp_path / "test_kept.py").write_text(KEPT)

    done = run(tmp_path, agent.env)

    assert "1 passed" in done.stdout
    assert [one["id"] for one in agent.ask("list")] == ["mine"]
