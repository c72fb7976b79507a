"""The demo: everything that it promises is there, and nothing of it runs on."""

from __future__ import annotations

import json
import os
import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent, eventually
from support.git import needs_git
from support.person import human

pytestmark = needs_git

PATHS = (
    *("workspace", "event_log_path", "report_path"),
    *("proof_json_path", "proof_markdown_path", "proof_html_path"),
)


def demo(agent: Agent, *words: str) -> dict[str, Any]:
    """Run the demo to its end."""
    done = agent.cli("demo", "--json", *words)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def begun(root: Path) -> bool:
    """Whether the session of a demo has begun."""
    return '"type":"exec"' in recorded(root)


def waits(root: Path) -> bool:
    """Whether a demo has typed its first line: what it does next is to wait."""
    return '"type":"outcome"' in recorded(root)


def recorded(root: Path) -> str:
    """Return what the session of a demo has recorded so far."""
    return "".join(log.read_text() for log in root.glob("*/logs/demo.jsonl"))


def test_seed_06_the_demo_leads_to_every_artifact(agent: Agent, tmp_path: Path) -> None:
    """
    The contract's fields; all six paths exist, the project is repaired, the documents say so.
    """
    found = demo(agent, "--root", str(tmp_path), "--name", "demo")

    assert list(found) == [
        *("status", "session_id", "run_dir", "workspace", "log_dir", "event_log_path"),
        *("proof_json_path", "proof_markdown_path", "proof_html_path", "report_path"),
        "screen_tail",
    ]
    assert (found["status"], found["session_id"]) == ("ok", "demo")
    assert [path for path in PATHS if not Path(found[path]).exists()] == []
    assert Path(found["workspace"], "answer.txt").read_text() == "fixed\n"
    assert "# agent-pty proof: demo" in Path(found["proof_markdown_path"]).read_text()
    assert "agent-pty proof: demo" in Path(found["proof_html_path"]).read_text()
    report = Path(found["report_path"]).read_text()
    assert "agent-pty demo complete" in report
    assert f"- proof html: {found['proof_html_path']}" in report
    assert "demo checks failed" in found["screen_tail"]
    assert "agent-pty-demo-success" in found["screen_tail"]


def test_the_demo_tells_a_person_where_everything_is(agent: Agent) -> None:
    """
    Each path that it prints exists, below the home, and the last line opens the proof.
    """
    done = agent.cli("demo")

    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": /" in line)
    assert list(lines) == ["workspace", "report", "proof", "proof html", "event log"]
    assert all(Path(path).exists() for path in lines.values())
    assert all(path.startswith(f"{agent.home}/demos/demo-2") for path in lines.values())
    assert done.stdout.splitlines()[0] == "agent-pty demo complete"
    assert done.stdout.splitlines()[-1].endswith(f"open {lines['proof html']}")


def test_no_daemon_is_needed_or_left(agent: Agent) -> None:
    """
    After the demo no process of it runs, no socket is there, and no other daemon was touched.
    """
    demo(agent)

    assert agent.processes() == []
    assert list((agent.home / "at").iterdir()) == []
    assert not Path(agent.layout.socket).exists()


def test_a_daemon_that_runs_is_not_disturbed(agent: Agent) -> None:
    """
    The sessions of the user's own daemon do not see the demo.
    """
    agent.new("mine")

    demo(agent, "--name", "mine")

    assert [one["id"] for one in agent.ask("list")] == ["mine"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_demo_that_is_killed_leaves_nothing_running(
    agent: Agent, tmp_path: Path, number: signal.Signals
) -> None:
    """
    Whatever ends it in the middle, its daemon and its session end with it.
    """
    # It waits for a prompt that never comes, so that it is in the middle for certain.
    running = agent.start("demo", "--root", str(tmp_path), "--shell", "/bin/cat")
    with running:
        eventually(lambda: begun(tmp_path))

        running.send_signal(number)
        running.wait(60)

    eventually(lambda: agent.processes() == [])
    eventually(lambda: list((agent.home / "at").iterdir()) == [])


@pytest.mark.parametrize("moment", [begun, waits])
def test_ctrl_c_at_the_terminal_leaves_nothing_running(
    agent: Agent, tmp_path: Path, moment: Callable[[Path], bool]
) -> None:
    """
    The key reaches only the demo itself, which cleans up and has status 130.
    """
    with human(agent, "demo", "--root", str(tmp_path), "--shell", "/bin/cat") as person:
        eventually(lambda: moment(tmp_path))
        person.type(b"\x03")

        assert person.leaves() == 130
    eventually(lambda: agent.processes() == [])


def test_a_demo_that_fails_says_why_and_leaves_nothing_running(
    agent: Agent, tmp_path: Path
) -> None:
    """
    A shell that is none is named, and the status is not 0.
    """
    done = agent.cli("demo", "--root", str(tmp_path), "--shell", "/nowhere/sh")

    assert done.returncode == 1
    assert "/nowhere/sh" in done.stderr
    assert agent.processes() == []


@pytest.mark.parametrize(
    ("given", "used"), [("my demo!", "my-demo"), ("--x--", "x"), ("...", "demo")]
)
def test_the_name_of_the_session_follows_from_the_name(
    agent: Agent, tmp_path: Path, given: str, used: str
) -> None:
    """
    What no session can be called becomes dashes; nothing left is `demo`.
    """
    found = demo(agent, "--root", str(tmp_path), f"--name={given}")

    assert found["session_id"] == used
    assert os.path.basename(found["run_dir"]).startswith(f"{used}-")


@pytest.mark.serial
def test_the_demo_takes_less_than_five_seconds(agent: Agent) -> None:
    """
    A person waits for it.
    """
    before = time.monotonic()

    demo(agent)

    assert time.monotonic() - before < 5.0


def test_the_command_that_the_demo_shows_can_be_pasted(agent: Agent, tmp_path: Path) -> None:
    """
    A path with blanks and quotes stays one word for a shell.
    """
    done = agent.cli("demo", "--root", str(tmp_path / "it's a demo"))

    _opener, *paths = shlex.split(done.stdout.splitlines()[-1])
    assert [Path(one).is_file() for one in paths] == [True]
