"""Signals that mean nothing to our processes do nothing to them."""

from __future__ import annotations

import os
import signal

import pytest

from agent_pty.client.start import upgrade_keeper
from support.agent import Agent, alive, slay

FOREIGN = {
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF),
    *(signal.SIGIO, signal.SIGPWR, signal.SIGHUP, signal.SIGRTMIN, signal.SIGRTMAX),
}
LONG = 60_000


@pytest.mark.parametrize("number", sorted(FOREIGN), ids=lambda number: f"signal {number:d}")
def test_trial_10_a_signal_that_is_not_for_us_ends_no_process(
    shared: Agent, number: signal.Signals
) -> None:
    """
    Daemon, keeper and host go on after a signal that ends a program which does not expect it.
    """
    name = f"s{number:d}"
    shared.new(name)
    before = roles_of(shared, name)

    for pid in before.values():
        os.kill(pid, number)

    # Each of the three must do something to answer this.
    shared.new(f"{name}-after", "cat", isolate=True)
    shared.ask("send", id=name, text="echo back-$((1+1))")
    shared.ask("wait", id=name, until="back-2", timeout_ms=LONG)
    assert roles_of(shared, name) == before
    assert all(alive(pid) for pid in before.values())


def roles_of(agent: Agent, session: str) -> dict[str, int]:
    """Return the pids of the processes that a session depends on."""
    return {role: agent.pid_of(role) for role in ("daemon", "keeper", session)}


def test_trial_10_ctrl_c_does_not_end_the_keeper(agent: Agent) -> None:
    """
    A keeper is nobody's foreground program.
    """
    agent.new("work", "cat")
    keeper = agent.pid_of("keeper")

    os.kill(keeper, signal.SIGINT)

    agent.new("after", "cat")
    assert agent.pid_of("keeper") == keeper


def test_trial_10_the_foreground_server_ignores_them_too(agent: Agent) -> None:
    """
    `serve` in a terminal goes on after signals that are not for it, and still obeys SIGTERM.
    """
    server = agent.start("serve")
    assert server.stdout is not None
    server.stdout.readline()

    for number in FOREIGN:
        server.send_signal(number)
    agent.new("work", "cat")

    assert agent.pid_of("daemon") == server.pid
    slay(server.pid, by=signal.SIGTERM)
    assert server.wait() == 0
    server.communicate()


def test_trial_10_an_upgraded_keeper_ignores_them_from_its_first_moment(agent: Agent) -> None:
    """
    What is ignored stays ignored while another build takes the keeper's place.
    """
    agent.new("work", "cat")
    keeper = agent.pid_of("keeper")
    agent.cli("stop", "--keep")

    upgrade_keeper(agent.layout)
    os.kill(keeper, signal.SIGUSR1)

    assert agent.info("work")["state"] == "running"
    assert agent.pid_of("keeper") == keeper


def test_trial_10_a_program_gets_the_default_of_every_signal(agent: Agent) -> None:
    """
    What the keeper ignores ends a program in a session as it does anywhere else.
    """
    agent.new("work", "sleep", "1000")

    agent.ask("signal", id="work", signal="USR1")

    agent.ask("wait", id="work", until="exit", timeout_ms=LONG)
    assert agent.info("work")["signal"] == signal.SIGUSR1


def test_trial_10_a_hook_gets_the_default_of_every_signal(agent: Agent) -> None:
    """
    A program that a host starts for itself does not ignore what the host ignores.
    """
    seen = agent.home / "ignored"
    hook = agent.home / "hook"
    hook.write_text(f"#!/bin/sh\ngrep SigIgn /proc/self/status > {seen}\nread x\n")
    hook.chmod(0o700)
    agent.new("work", "sh", frame=f"hook:{hook}")
    agent.ask("run", id="work", code="echo done")

    ignored = int(seen.read_text().split()[1], 16)

    assert not ignored & _bit(signal.SIGUSR1)
    assert not ignored & _bit(signal.SIGALRM)


def _bit(number: int) -> int:
    return 1 << (number - 1)
