"""When nothing can be recorded: input is refused, reads go on, and it recovers by itself."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator

import pytest

from agent_pty.errors import EvidenceUnavailable
from support.agent import Agent, eventually, slay
from support.journal import file_of, gaps, payloads, typed
from support.small_disk import SmallDisk, small_disk

LONG = 30_000


@pytest.fixture
def log_disk() -> Iterator[SmallDisk]:
    """A disk of its own for the log directory."""
    with small_disk(2) as mounted:
        yield mounted


@pytest.fixture
def user(agent: Agent, log_disk: SmallDisk) -> Iterator[Agent]:
    """A user whose log directory alone is on that disk, with one session, `work`.

    Without a recording, which would take the room on that disk, and free some, in its own time.
    """
    (agent.home / "runs").symlink_to(log_disk.path)
    (agent.home / "config.toml").write_text('[recording]\nbudget = "0"\n')
    agent.new("work", "/bin/sh", "-c", "stty -echo; echo ready; exec cat")
    agent.ask("wait", id="work", until="ready", timeout_ms=LONG)
    yield agent
    agent.cli("stop")


def read_only(disk: SmallDisk) -> None:
    """Let nobody write to a disk any more."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk.path)], check=True)


def refused_from_now_on(user: Agent, log_disk: SmallDisk) -> int:
    """Fill the disk, and the block that the journal has begun; return how many sends were typed."""
    log_disk.fill()
    for typed_so_far in itertools.count():
        try:
            user.ask("send", id="work", text="before")
        except EvidenceUnavailable:
            return typed_so_far
    raise AssertionError


def test_must_hold_7_a_full_disk_refuses_input_and_says_so(
    user: Agent, log_disk: SmallDisk
) -> None:
    """
    LOG-21, LOG-22: A clear code and no byte typed; with room again it goes on by itself.

    Reads and `resize` work, `status` and `doctor` name the session, the record tells of the gap.
    """
    refused_from_now_on(user, log_disk)

    with pytest.raises(EvidenceUnavailable):
        user.ask("send", id="work", text="never")
    user.ask("resize", id="work", rows=30, cols=100)
    assert "never" not in user.transcript("work")
    status = user.ask("status")
    doctor = json.loads(user.cli("doctor", "--json").stdout)
    shown = user.cli("status").stdout

    (problem,) = [one for one in doctor["checks"] if one["name"] == "evidence"]
    assert status["evidence"]["unavailable"] == {"work": "No space left on device"}
    assert not problem["ok"]
    assert "work: No space left on device" in problem["detail"]
    assert "evidence unavailable: work: No space left on device; input is refused" in shown

    log_disk.free()
    eventually(lambda: not user.ask("status")["evidence"]["unavailable"])
    user.ask("send", id="work", text="after")
    user.ask("wait", id="work", until="after", timeout_ms=LONG)
    missing, refused = gaps(user, "work")
    assert (missing["resize"], refused) == (1, 2)
    assert "never" not in "".join(typed(user, "work"))


def test_must_hold_7_an_unlinked_log(user: Agent, log_disk: SmallDisk) -> None:
    """
    A journal that was removed and cannot be made again refuses input, until it can.
    """
    file_of(user, "work").unlink()
    (log_disk.path / "work.jsonl").mkdir()

    with pytest.raises(EvidenceUnavailable):
        user.ask("send", id="work", text="never")
    (log_disk.path / "work.jsonl").rmdir()
    user.ask("send", id="work", text="after")

    user.ask("wait", id="work", until="after", timeout_ms=LONG)
    assert "never" not in user.transcript("work")
    assert len(payloads(user, "work", "recovery")) == 1
    assert user.cli("verify", "work").returncode in (0, 3)


def test_log_24_a_read_only_log_directory_at_the_start(agent: Agent, log_disk: SmallDisk) -> None:
    """
    A daemon whose log directory cannot be written does not start, and names the directory.
    """
    read_only(log_disk)
    (agent.home / "runs").symlink_to(log_disk.path)

    served = agent.cli("serve", "--log-dir", str(log_disk.path))
    started = agent.cli("new", "--name", "a", "--repo", "/tmp")

    for said, directory in ((served, log_disk.path), (started, agent.home / "runs")):
        assert said.returncode == 1
        assert said.stderr == f"error: {directory} is not writable\n"
    assert agent.processes() == []


def test_input_that_need_not_be_recorded_is_typed(agent: Agent, log_disk: SmallDisk) -> None:
    """
    With `evidence.required = false` work goes on, and the record says afterwards what it lacks.
    """
    (agent.home / "config.toml").write_text("[evidence]\nrequired = false\n")
    (agent.home / "runs").symlink_to(log_disk.path)
    agent.new("work", "cat")
    log_disk.fill()

    for number in range(20):
        agent.ask("send", id="work", text=f"typed{number}")
    agent.ask("wait", id="work", until="typed19", timeout_ms=LONG)
    log_disk.free()
    agent.ask("send", id="work", text="after")

    missing, refused = gaps(agent, "work")
    assert missing["send_keys"] + len(typed(agent, "work")) == 21
    assert refused == 0
    agent.cli("stop")


def test_with_sync_always_an_answer_waits_for_the_disk(agent: Agent) -> None:
    """
    When `send` has answered, its event was synced: `status` knows how long that took.
    """
    (agent.home / "config.toml").write_text('[evidence]\nsync = "always"\n')
    agent.new("work", "cat")

    agent.ask("send", id="work", text="one")

    lag = agent.ask("status")["evidence"]["sync_lag_ms"]
    assert lag is not None
    assert lag >= 0


def test_the_loss_of_a_session_is_recorded_by_the_daemon(agent: Agent) -> None:
    """
    When keeper, host and daemon are gone, the next daemon writes what nobody else can, once.
    """
    agent.new("work", "cat")
    agent.ask("send", id="work", text="one")
    host, keeper, daemon = (agent.pid_of(one) for one in ("work", "keeper", "daemon"))

    slay(daemon, host, keeper)
    agent.cli("list")
    agent.cli("restart", "--keep")

    (lost,) = payloads(agent, "work", "host_lost")
    assert "keeper, host and daemon ended" in lost["diagnosis"]
    agent.cli("kill", "work")
    assert len(payloads(agent, "work", "kill")) == 1


def test_log_30_input_that_could_not_be_given_is_recorded_as_failed(agent: Agent) -> None:
    """
    A terminal that takes nothing more: the intent is there, and that it failed, never delivered.
    """
    agent.new("full", "/bin/sh", "-c", "stty -icanon -echo; echo set; sleep 1000")
    agent.ask("wait", id="full", until="set", timeout_ms=LONG)
    with agent.begin("send", id="full", text="x" * 200_000, raw=True) as answer:
        eventually(lambda: len(payloads(agent, "full", "send_keys")) == 1)

        agent.ask("kill", id="full")

        assert not answer()["ok"]
    (outcome,) = payloads(agent, "full", "outcome")
    assert outcome["result"] == "failed"
