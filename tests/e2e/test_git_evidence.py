"""What is recorded of a session's git work tree, and what answers say of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent, eventually
from support.git import Repository, needs_git
from support.journal import file_of, recorded

LONG = 30_000

pytestmark = needs_git


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one committed file."""
    made = Repository(tmp_path / "tree", tmp_path / "home")
    made.git("init", "-q")
    (made.path / "a.txt").write_text("one\n")
    made.git("add", ".")
    made.git("commit", "-q", "-m", "first")
    return made.path


def snapshots(agent: Agent, name: str) -> list[dict[str, Any]]:
    """Return the recorded snapshots of a session's work tree."""
    found = [one["git_snapshot"] for one in recorded(agent, name)]
    return [one for one in found if one is not None]


def test_the_work_tree_is_recorded_before_and_after(shared: Agent, tree: Path) -> None:
    """
    The first snapshot is of the beginning; a later one shows what a command has changed.
    """
    shared.ask("new", id="edits", repo=str(tree), argv=["/bin/bash", "--norc"])
    eventually(lambda: len(snapshots(shared, "edits")) == 1)

    shared.ask("run", id="edits", code="echo two >> a.txt; touch new")
    eventually(lambda: len(snapshots(shared, "edits")) == 2)

    before, after = snapshots(shared, "edits")
    assert before["clean"]
    assert list(after)[:6] == [
        *("workspace", "head", "clean", "status_short", "diff", "staged_diff")
    ]
    assert (after["clean"], after["status_short"]) == (False, " M a.txt\n?? new\n")
    assert "+two" in after["diff"]
    events = [one for one in recorded(shared, "edits") if one["git_snapshot"] is not None]
    assert events[1]["kind"]["payload"] == {
        "type": "snapshot_files",
        "globs": ["a.txt", "new"],
        "changed": 2,
    }
    assert " snapshot files a.txt,new\n" in shared.cli("replay", "edits").stdout


def test_a_wait_says_which_files_have_changed(shared: Agent, tree: Path) -> None:
    """
    The answer has the snapshot and the files; the record names the event that has the diffs.
    """
    shared.ask("new", id="waits", repo=str(tree), argv=["/bin/bash", "--norc"])
    eventually(lambda: len(snapshots(shared, "waits")) == 1)
    shared.ask("send", id="waits", text="echo two > a.txt; echo do''ne")
    shared.ask("wait", id="waits", until="done", timeout_ms=LONG)
    eventually(lambda: len(snapshots(shared, "waits")) == 2)

    seen = shared.ask("wait", id="waits", until="idle:1ms", timeout_ms=LONG)

    assert seen["files_changed"] == [{"path": "a.txt", "status": "M", "renamed_from": None}]
    assert "+two" in seen["git_snapshot"]["diff"]
    assert seen["git_skipped"] is None
    last = recorded(shared, "waits")[-1]["kind"]["payload"]
    assert last["files_changed"] == seen["files_changed"]
    reference = last["git_snapshot"]
    assert (reference["diff"], reference["status_short"]) == ("", " M a.txt\n")
    (where,) = [
        one
        for one in recorded(shared, "waits")
        if one["sequence"] == reference["recorded_in"] and one["git_snapshot"] is not None
    ]
    assert "+two" in where["git_snapshot"]["diff"]


def test_outside_of_a_repository_nothing_has_changed(shared: Agent) -> None:
    """
    There is no snapshot, and an empty list of files is the truth.
    """
    shared.new("plain", "cat")
    shared.ask("send", id="plain", text="x")

    seen = shared.ask("wait", id="plain", until="x", timeout_ms=LONG)

    assert (seen["git_snapshot"], seen["files_changed"], seen["git_skipped"]) == (None, [], None)
    assert snapshots(shared, "plain") == []


def test_git_08_what_cannot_be_looked_at_says_why(shared: Agent, tree: Path) -> None:
    """
    Unknown is null with its reason, never an empty list.
    """
    (tree / ".git/index").write_bytes(b"damaged")
    shared.ask("new", id="damaged", repo=str(tree), argv=["cat"])
    shared.ask("send", id="damaged", text="x")

    seen = shared.ask("wait", id="damaged", until="x", timeout_ms=LONG)

    assert (seen["git_snapshot"], seen["files_changed"]) == (None, None)
    assert seen["git_skipped"]


def test_the_last_snapshot_is_taken_when_a_session_is_killed(agent: Agent, tree: Path) -> None:
    """
    What was changed just before the end is in the record, and everything is signed.
    """
    agent.ask("new", id="last", repo=str(tree), argv=["/bin/bash", "--norc"])
    agent.ask("run", id="last", code="echo two > a.txt")

    agent.ask("kill", id="last")
    agent.cli("stop")

    journal = [json.loads(line) for line in file_of(agent, "last").read_text().splitlines()]
    found = [one["git_snapshot"] for one in journal if one["git_snapshot"] is not None]
    assert "+two" in found[-1]["diff"]
    assert agent.cli("verify", "last").returncode == 0


def test_red_01_secrets_of_a_diff_are_not_recorded(shared: Agent, tree: Path) -> None:
    """
    What is written into a file of the work tree is recorded without its secrets.
    """
    (tree / "a.txt").write_text("API_TOKEN=swordfish-4711\n")
    shared.ask("new", id="diffs", repo=str(tree), argv=["cat"])
    eventually(lambda: len(snapshots(shared, "diffs")) == 1)

    assert "swordfish" not in file_of(shared, "diffs").read_text()
    assert "+API_TOKEN=[REDACTED]" in snapshots(shared, "diffs")[0]["diff"]


def test_must_hold_6_a_session_runs_nothing_of_its_repository(shared: Agent, tree: Path) -> None:
    """
    Hooks, filters and drivers of the repository that would write a file never do by our looks.
    """
    marker = tree.parent / "marker"
    program = tree.parent / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {marker}\ncat\n")
    program.chmod(0o755)
    settings = {
        "core.fsmonitor": program,
        "core.hooksPath": tree.parent / "hooks",
        "diff.external": program,
        "diff.mine.textconv": program,
        "filter.mine.clean": program,
    }
    for name, value in settings.items():
        subprocess.run(["git", "-C", tree, "config", name, str(value)], check=True)
    (tree / ".gitattributes").write_text("* filter=mine diff=mine\n")
    shared.ask("new", id="hostile", repo=str(tree), argv=["/bin/bash", "--norc"])

    shared.ask("run", id="hostile", code="echo two > a.txt")
    shared.ask("wait", id="hostile", until="prompt", timeout_ms=LONG)
    eventually(lambda: any("+two" in one["diff"] for one in snapshots(shared, "hostile")))
    shared.ask("kill", id="hostile")

    assert not marker.exists()
    subprocess.run(["git", "-C", tree, "status"], check=True, capture_output=True)
    assert marker.exists()  # git by itself would have
