"""The first things a new user does."""

from __future__ import annotations

from support.agent import Agent


def test_a_session_runs_a_command(agent: Agent) -> None:
    """
    A new session takes a command, and a wait returns with its output on the screen.
    """
    assert agent.cli("new", "--name", "work", "--repo", "/tmp").stdout == "created session work\n"
    assert agent.cli("send", "work", "echo six-times-seven-is-$((6*7))").stdout == "sent\n"

    waited = agent.cli("wait", "work", "--until", "is-42")

    assert waited.returncode == 0
    assert "six-times-seven-is-42" in waited.stdout


def test_stop_leaves_nothing(agent: Agent) -> None:
    """
    After `stop` no process of ours lives and the socket is gone.
    """
    agent.new("work")

    stopped = agent.cli("stop")

    assert stopped.stdout == "stopped\n"
    assert agent.processes() == []
    assert not (agent.home / "agent-pty.sock").exists()


def test_an_echo_does_not_satisfy_a_wait(agent: Agent) -> None:
    """
    A wait for text that the command line itself contains looks past the echo of that line.
    """
    agent.new("work")
    agent.ask("send", id="work", text="sleep 0.2; echo needle | tr e E")

    waited = agent.cli("wait", "work", "--until", "needle", "--timeout", "700ms")

    assert waited.returncode == 4
    assert "timed out waiting for" in waited.stderr


def test_a_wait_sees_what_came_before_it(agent: Agent) -> None:
    """
    Text that came after the send but before the wait call counts.
    """
    agent.new("work")
    agent.ask("send", id="work", text="echo need$((1))le; echo end-$((1+1))")
    agent.ask("wait", id="work", until="end-2", timeout_ms=20_000)

    seen = agent.ask("wait", id="work", until="need1le", timeout_ms=0)

    assert seen["matched"] == "need1le"
