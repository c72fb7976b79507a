"""Processes of ours that have no free descriptor: they say so once, refuse, and go on."""

from __future__ import annotations

import itertools
import os
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.agent import Agent, eventually
from support.raw_socket import wire

# More than a daemon can accept at once, and than its log may have lines.
CROWD = 50


def descriptors(pid: int) -> set[int]:
    """Return the descriptors of a process."""
    return {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}


@contextmanager
def limited(pid: int, *, free: int) -> Iterator[None]:
    """Let a process open only *free* descriptors more: the limit is one for their numbers."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = descriptors(pid)
    unused = (number for number in itertools.count() if number not in used)
    limit = list(itertools.islice(unused, free + 1))[-1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def test_trial_17_a_daemon_without_descriptors_says_so_once_and_goes_on(agent: Agent) -> None:
    """
    Who is connected is served, who is not waits; the log has one line; all are answered in the end.
    """
    agent.new("work", "/bin/cat")
    log, index = Path(agent.layout.log), Path(agent.layout.session_index)
    # It is written a moment after a change.
    eventually(lambda: index.exists() and "work" in index.read_text())
    with ExitStack() as crowd, wire(agent) as known:
        with limited(agent.pid_of("daemon"), free=3):
            waiting = [crowd.enter_context(wire(agent)) for _ in range(CROWD)]
            for one in waiting:
                one.post("screen", id="work")
            eventually(lambda: log.read_text() != "")
            for _ in range(CROWD):
                known.post("screen", id="work")
                assert known.answer()["ok"]

            said = log.read_text()

        assert all(one.answer()["ok"] for one in waiting)

    assert said.count("\n") == 1
    assert "cannot accept connections: Too many open files" in said
    assert log.read_text() == said


@pytest.mark.parametrize("free", [0, 1, 2, 3, 4])
def test_trial_17_a_host_without_descriptors_refuses_a_session(agent: Agent, free: int) -> None:
    """
    A session for which its host has no descriptors is refused; nothing of it stays, others go on.
    """
    for number in range(2 * (os.cpu_count() or 1)):
        agent.new(f"s{number}", "/bin/cat")
    hosts = {one["host_pid"] for one in agent.ask("list")}
    before = {host: descriptors(host) for host in hosts}
    files = sorted(os.listdir(agent.layout.sessions))
    create = ("new", "--name", "other", "--repo", "/tmp", "--", "/bin/cat")

    with ExitStack() as limits:
        for host in hosts:
            limits.enter_context(limited(host, free=free))
        said = agent.cli(*create)
        agent.ask("send", id="s0", text="still here")
        agent.ask("wait", id="s0", until="still here")
        now = {host: descriptors(host) for host in hosts}

    if said.returncode:  # with four descriptors a session may do
        assert said.stderr.endswith("end a session or raise the limit\n")
        assert now == before
        assert sorted(os.listdir(agent.layout.sessions)) == files
        agent.cli(*create)
    agent.ask("send", id="other", text="hello")
    agent.ask("wait", id="other", until="hello")
    agent.ask("send", id="other", text="\x04", enter=False)
    agent.ask("wait", id="other", until="exit")
    assert agent.info("other")["exit_code"] == 0
