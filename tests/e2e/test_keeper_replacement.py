"""A keeper that cannot be replaced at once: sessions go on, and `new` fails with the reason."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Iterator

from support.agent import Agent, alive, eventually, slay

LONG = 60_000


@contextlib.contextmanager
def no_keeper(agent: Agent) -> Iterator[None]:
    """Kill the keeper and hold its lock, so that no other one can start meanwhile."""
    keeper = agent.pid_of("keeper")
    with open(agent.layout.keeper_lock, "rb") as lock:
        # Who waits for a lock gets it before those who come later.
        waiter = threading.Thread(target=fcntl.flock, args=(lock, fcntl.LOCK_EX))
        waiter.start()
        eventually(lambda: is_waited_for(lock.fileno()))
        slay(keeper)
        waiter.join()
        yield


def is_waited_for(lock: int) -> bool:
    """Whether a process waits for a lock, as the kernel says."""
    inode = f":{os.fstat(lock).st_ino} "
    with open("/proc/locks") as file:
        return any("->" in line and inode in line for line in file)


def test_trial_04_a_keeper_is_tried_again_until_it_starts(agent: Agent) -> None:
    """
    After a failed replacement `new` fails with the reason, and works once the cause is gone.
    """
    agent.new("work")

    with no_keeper(agent):
        eventually(lambda: agent.ask("status")["keeper_error"] is not None)
        refused = agent.cli("new", "--name", "other", "--repo", "/tmp")
        agent.ask("send", id="work", text="echo on-$((1+1))")
        agent.ask("wait", id="work", until="on-2", timeout_ms=LONG)
    eventually(lambda: agent.ask("status")["keeper_error"] is None)

    assert refused.returncode == 1
    assert "no keeper since " in refused.stderr
    assert agent.layout.keeper_lock in refused.stderr
    assert agent.cli("new", "--name", "other", "--repo", "/tmp").returncode == 0
    assert agent.info("work")["state"] == "running"


def test_trial_04_status_and_doctor_name_the_missing_keeper(agent: Agent) -> None:
    """
    While there is no keeper, `status` shows no pid of one and why, and `doctor` fails.
    """
    agent.new("work", "cat")
    before = agent.ask("status")

    with no_keeper(agent):
        eventually(lambda: agent.ask("status")["keeper_error"] is not None)
        status = agent.cli("status")
        facts = json.loads(agent.cli("status", "--json").stdout)
        doctor = agent.cli("doctor")

    assert before["keeper_error"] is None
    assert facts["keeper_pid"] is None
    assert "did not start" in facts["keeper_error"]
    assert "no keeper since " in status.stderr
    assert doctor.returncode == 1
    assert "- daemon: failed (no keeper since " in doctor.stdout


def test_trial_04_stop_works_without_a_keeper(agent: Agent) -> None:
    """
    A daemon without a keeper ends its sessions and itself, and leaves no keeper.
    """
    shell = agent.new("work", "cat")["pid"]

    with no_keeper(agent):
        eventually(lambda: agent.ask("status")["keeper_error"] is not None)
        stopped = agent.cli("stop")

    assert stopped.returncode == 0, stopped.stderr
    assert agent.processes() == []
    assert not alive(shell)
