"""Upgrade in place: another build takes over, and the sessions do not notice."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_pty import build
from support.agent import Agent, alive, eventually, slay
from support.build import another_build
from support.spool import held_by, spool_of


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of another build."""
    return another_build(tmp_path_factory.mktemp("build"))


def run(python: Path, agent: Agent, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `agent-pty` of the other build."""
    return subprocess.run(
        [python, "-m", "agent_pty.cli.main", *words],
        env=agent.env,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def builds(status: dict[str, Any]) -> set[str | None]:
    """Return the builds that all processes say they run."""
    return {status["build"], status["keeper_build"], *(host["build"] for host in status["hosts"])}


def test_restart_keep_replaces_every_process_and_no_session(agent: Agent, python: Path) -> None:
    """
    Everything runs the other build; the keeper has its pid, the shells their variables and text.
    """
    agent.new("work")
    agent.new("alone", isolate=True)
    agent.ask("run", id="work", code="x=42; seq 1 5000")
    before, keeper = agent.info("work"), agent.pid_of("keeper")
    text = agent.transcript("work")

    done = run(python, agent, "restart", "--keep", "--json")

    assert done.returncode == 0, done.stderr
    status = agent.ask("status")
    assert status["keeper_pid"] == keeper
    assert builds(status) == {status["build"]}
    assert status["build"] != build.digest()
    assert agent.info("work")["pid"] == before["pid"]
    assert agent.transcript("work") == text
    assert agent.ask("run", id="work", code="echo $x")["output"] == "42"
    assert agent.ask("run", id="alone", code="echo here")["output"] == "here"


def test_exit_codes_survive_an_upgrade(agent: Agent, python: Path) -> None:
    """
    The keeper is still the parent: what ends afterwards, or meanwhile, has its exit code.
    """
    agent.new("later")
    agent.new("meanwhile", "/bin/sh", "-c", "read x; exit 7")
    agent.ask("send", id="meanwhile", text="now")

    run(python, agent, "restart", "--keep")
    agent.ask("send", id="later", text="exit 5")

    for name, code in (("later", 5), ("meanwhile", 7)):
        ended = agent.ask("wait", id=name, until="exit", timeout_ms=30_000)
        assert ended["exit_status"] == code


def test_nothing_is_lost_of_what_is_written_meanwhile(agent: Agent, python: Path) -> None:
    """
    A program that writes all the time is read without a hole or a repetition.
    """
    agent.new("work")
    agent.ask(
        "send", id="work", text="for n in $(seq 1 20000); do echo n=$n; done; echo the-end-$((1))"
    )

    run(python, agent, "restart", "--keep")
    agent.ask("wait", id="work", until="the-end-1", timeout_ms=60_000)

    lines = [line for line in agent.transcript("work").split("\n") if line.startswith("n=")]
    assert lines == [f"n={number}" for number in range(1, 20_001)]


def test_the_limit_of_open_files_is_handed_on(agent: Agent, python: Path) -> None:
    """
    The keeper raises its own; programs it starts after an upgrade get what it was started with.
    """
    agent.new("before")
    limit = agent.ask("run", id="before", code="ulimit -n")["output"]

    run(python, agent, "restart", "--keep")
    agent.new("after")

    assert agent.ask("run", id="after", code="ulimit -n")["output"] == limit


def test_a_build_that_cannot_start_changes_nothing(agent: Agent) -> None:
    """
    A command that does not exist is refused; the keeper goes on as it is.
    """
    agent.new("work")
    keeper = agent.pid_of("keeper")
    agent.cli("stop", "--keep")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.executable", "/no/such/python")
        from agent_pty.client.start import upgrade_keeper  # noqa: PLC0415
        from agent_pty.errors import DaemonError  # noqa: PLC0415

        with pytest.raises(DaemonError, match="No such file"):
            upgrade_keeper(agent.layout)

    assert alive(keeper)
    assert agent.ask("run", id="work", code="echo still here")["output"] == "still here"


def test_a_client_of_another_build_starts_no_second_keeper(agent: Agent, python: Path) -> None:
    """
    Its daemon works beside the keeper that is there, and takes over its sessions.
    """
    agent.new("work")
    keeper = agent.pid_of("keeper")
    agent.cli("stop", "--keep")  # one that died would be followed by one of its own build

    listed = json.loads(run(python, agent, "list", "--json").stdout)

    assert [one["id"] for one in listed] == ["work"]
    status = agent.ask("status")
    assert (status["keeper_pid"], status["keeper_build"]) == (keeper, build.digest())
    assert status["build"] != build.digest()
    agent.new("another")
    assert agent.ask("run", id="another", code="echo works")["output"] == "works"


def test_what_cannot_be_read_is_set_aside(agent: Agent) -> None:
    """
    A spool of an unknown version starts the session with an empty screen; its files are kept.
    """
    agent.new("work")
    instance = agent.info("work")["instance"]
    spool = spool_of(agent.pid_of("keeper"))
    slay(agent.pid_of("daemon"), agent.pid_of("work"))
    with open(spool, "r+b") as ring:
        ring.write((99).to_bytes(8, "little"))

    assert agent.ask("run", id="work", code="echo works")["output"] == "works"

    assert "spec.json" in os.listdir(f"{agent.layout.aside}/{instance}")
    assert "the spool has version 99, not 1" in Path(agent.layout.log).read_text()


def test_a_session_of_the_previous_build_goes_on_with_its_file(agent: Agent, python: Path) -> None:
    """
    That build had the spool in a file: text and screen are rebuilt from it, by every later host.
    """
    agent.new("work")
    agent.ask("run", id="work", code="x=42; seq 1 5000")
    directory, spool = (
        agent.layout.session(agent.info("work")["instance"]),
        spool_of(agent.pid_of("keeper")),
    )
    text = agent.transcript("work")
    slay(agent.pid_of("daemon"), agent.pid_of("work"))
    with open(spool, "r+b") as memory:
        Path(directory, "raw").write_bytes(memory.read())
        memory.seek(0)
        memory.write(bytes(4096))  # as a keeper makes it that did not begin the session

    found = agent.transcript("work")
    run(python, agent, "restart", "--keep")

    assert found == text
    assert agent.transcript("work") == text
    assert agent.ask("run", id="work", code="echo $x")["output"] == "42"
    slay(agent.pid_of("keeper"))
    eventually(lambda: "/dev/ptmx" in held_by(agent.pid_of("keeper")))
    slay(agent.pid_of("work"))
    assert agent.ask("run", id="work", code="echo $x")["output"] == "42"
    assert agent.transcript("work").startswith(text)
