"""Forks of running sessions: exact, confined, and removed without a trace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agent_pty.errors import (
    AgentPtyError,
    ApprovalRequired,
    BadRequest,
    ForkFailed,
    ForkInUse,
    MergeConflict,
    SessionEnded,
    SessionExists,
    UnknownFork,
    UnmergedWork,
)
from support.agent import Agent, eventually, slay
from support.git import Repository, needs_git

pytestmark = needs_git

BASH = ["/bin/bash", "--norc", "--noprofile"]


@pytest.fixture
def repository(agent: Agent, tmp_path: Path) -> Repository:
    """A repository with uncommitted and untracked changes."""
    made = Repository(tmp_path / "place" / "tree", agent.home).init()
    made.commit(a="one\n", b="two\n")
    made.write("a.txt", "changed\n")
    made.write("lib/new.txt", "untracked\n")
    return made


@pytest.fixture
def source(agent: Agent, repository: Repository) -> str:
    """A session that works in the repository."""
    agent.ask("new", id="work", repo=str(repository.path), argv=BASH, env={"OWN": "mine"})
    agent.ask("ready", id="work")
    return "work"


def fork(agent: Agent, name: str = "b", **fields: Any) -> dict[str, Any]:
    """Fork the source with its files."""
    asked = {"copy_worktree": True, **fields}
    made: dict[str, Any] = agent.ask("fork", id="work", name=name, **asked)
    return made


def output(agent: Agent, name: str, code: str) -> str:
    """Run code in a session and return what it prints."""
    return str(agent.ask("run", id=name, code=code, timeout_ms=60_000)["output"])


def traces(repository: Repository) -> tuple[bytes, bytes, list[str]]:
    """Return everything that a fork adds to a repository, and what is beside it."""
    beside = sorted(path.name for path in repository.path.parent.iterdir())
    return repository.git("for-each-ref"), repository.git("worktree", "list"), beside


def test_seed_25_a_worktree_backed_fork_has_another_workspace_and_works(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    The command line says where the fork is; its files are there, and its shell runs in it.
    """
    done = agent.cli("fork", source, "--new-name", "b", "--copy-worktree")

    place = repository.path.parent / "tree.agent-pty-forks" / "b"
    assert done.stdout == f"forked b from work at {place}\n"
    assert output(agent, "b", "pwd; cat a.txt lib/new.txt") == f"{place}\nchanged\nuntracked"
    assert repository.git("status", "--short", cwd=place) == repository.git("status", "--short")


def test_a_fork_starts_where_its_source_is_and_with_its_environment(
    agent: Agent, source: str
) -> None:
    """
    The shell of a fork is in the same subdirectory, of the same size, with the same variables.
    """
    output(agent, source, "cd lib")
    agent.ask("resize", id=source, rows=33, cols=99)

    made = fork(agent)

    assert output(agent, "b", "pwd; echo $OWN; stty size") == f"{made['cwd']}\nmine\n33 99"
    assert made["cwd"] == f"{made['workspace']}/lib"
    assert made["environment"] == "exported"


SHELLS = {
    "bash": [*BASH],
    "zsh": ["zsh", "-f"],
    "fish": ["fish", "--no-config"],
}
# What is exported, changed and unset after the start; fish has words of its own.
CHANGES = {
    "bash": "export NEW='two\nlines' OWN=changed; unset GONE; LOCAL=1",
    "zsh": "export NEW=$'two\nlines' OWN=changed; unset GONE; LOCAL=1",
    "fish": "set -gx NEW (printf 'two\nlines' | string collect); set -gx OWN changed; set -e GONE; "
    "set -g LOCAL 1",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_fork_has_what_the_shell_of_its_source_exports(
    agent: Agent, repository: Repository, shell: str
) -> None:
    """
    Exported, changed and unset variables: all as in the source, and nothing of it is shown.
    """
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    given = {"OWN": "mine", "GONE": "1"}
    agent.ask("new", id="work", repo=str(repository.path), argv=SHELLS[shell], env=given)
    agent.ask("ready", id="work")
    agent.ask("run", id="work", code=CHANGES[shell], timeout_ms=60_000)
    before = agent.ask("screen", id="work")["text"]

    made = fork(agent)

    assert "two" not in str(agent.ask("replay", id="b"))
    agent.ask("ready", id="b")
    show = 'printf "%s|%s|%s|%s" "$NEW" "$OWN" "$GONE" "$LOCAL"'
    assert output(agent, "b", show) == "two\nlines|changed||"
    assert made["environment"] == "exported"
    assert agent.ask("screen", id="work")["text"] == before
    assert not Path(agent.layout.exports(agent.info("work")["instance"])).exists()


def test_a_shell_that_is_busy_gives_what_it_was_started_with(agent: Agent, source: str) -> None:
    """
    It cannot be asked while a command runs, and the answer says so.
    """
    output(agent, source, "export OWN=changed")
    agent.ask("send", id=source, text="sh -c 'echo up-$((1+1)); exec cat'")
    agent.ask("wait", id=source, until="up-2", timeout_ms=60_000)

    made = fork(agent)

    assert made["environment"] == "as_started"
    assert output(agent, "b", "echo $OWN") == "mine"


def test_what_a_host_that_died_had_asked_for_is_removed(agent: Agent, source: str) -> None:
    """
    Variables may be secrets: they stay in no file for the rest of the session.
    """
    path = Path(agent.layout.exports(agent.info(source)["instance"]))
    path.write_text("SECRET=1")

    slay(agent.pid_of(source))

    eventually(lambda: not path.exists())
    agent.ask("screen", id=source)


def test_what_was_exported_is_judged_when_it_is_inherited(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    A fork is no way around the rule about variables that make programs run files.
    """
    output(agent, source, f"export BASH_ENV={repository.path}/evil.sh")
    before = traces(repository)

    with pytest.raises(ApprovalRequired, match="requires approval"):
        fork(agent)

    assert traces(repository) == before


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_fork_of_a_session_in_tmux_is_in_tmux(
    agent: Agent, repository: Repository, request: pytest.FixtureRequest
) -> None:
    """
    It outlives us as its source does, in the same tmux server, in a copy of the files.
    """
    argv = ["tmux", "-S", agent.layout.tmux_socket, "kill-server"]
    request.addfinalizer(lambda: subprocess.run(argv, capture_output=True, check=False))
    agent.ask("new", id="work", repo=str(repository.path), argv=BASH, backend="tmux")
    agent.ask("ready", id="work")
    output(agent, "work", "export NEW=1; cd lib")

    made = fork(agent)

    assert agent.info("b")["backend"] == "tmux"
    assert output(agent, "b", "pwd; echo $NEW; cat new.txt") == f"{made['cwd']}\n1\nuntracked"
    assert made["cwd"] == f"{made['workspace']}/lib"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel asks on Linux only")
def test_a_fork_of_a_guarded_session_is_guarded(agent: Agent, repository: Repository) -> None:
    """
    A fork is no way out of the guard.
    """
    where = str(repository.path)
    agent.ask("new", id="work", repo=where, argv=BASH, guard="strict")
    agent.ask("ready", id="work")

    fork(agent)

    assert agent.info("b")["guard"]["mode"] == "strict"


def test_without_a_copy_a_fork_works_in_the_same_files(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    The seed's fork without `--copy-worktree` is another session in the same directory.
    """
    made = fork(agent, copy_worktree=False)

    assert (made["workspace"], made["branch"]) == (str(repository.path), None)
    assert output(agent, "b", "pwd") == str(repository.path)
    assert source == made["source_id"]


def test_a_fork_is_in_both_journals(agent: Agent, source: str) -> None:
    """
    Source and fork each have an event that names both.
    """
    made = fork(agent)

    expected = {
        "type": "fork",
        "source": source,
        "target": "b",
        "workspace": made["workspace"],
    }
    for name in (source, "b"):
        events = [one["kind"]["payload"] for one in agent.ask("replay", id=name)]
        assert [one for one in events if one["type"] == "fork"] == [expected]


def test_several_attempts_are_made_at_once_or_none(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    `--count` makes numbered forks; if one of them cannot be made, there is none.
    """
    made = fork(agent, "try", count=3)
    assert [one["id"] for one in made["forks"]] == ["try-1", "try-2", "try-3"]
    before = traces(repository)
    agent.ask("kill", id="try-2")

    with pytest.raises(ForkFailed, match="a fork try-2 is still there"):
        fork(agent, "try-2")
    repository.git("branch", "agent-pty/other-2")
    with pytest.raises(ForkFailed, match="branch agent-pty/other-2 already exists"):
        fork(agent, "other", count=3)

    repository.git("branch", "--delete", "--force", "agent-pty/other-2")
    assert traces(repository) == before
    assert {one["id"] for one in agent.ask("list")} == {source, "try-1", "try-3"}


def test_a_session_that_does_not_start_leaves_no_copy(
    agent: Agent, repository: Repository, tmp_path: Path
) -> None:
    """
    If the program of the fork cannot be started, work tree, branch and directory are taken back.
    """
    shell = tmp_path / "shell"
    shell.symlink_to("/bin/cat")
    agent.ask("new", id="work", repo=str(repository.path), argv=[str(shell)])
    shell.unlink()
    before = traces(repository)

    with pytest.raises(AgentPtyError, match="shell"):
        fork(agent)

    assert traces(repository) == before
    assert agent.ask("forks") == []


@pytest.mark.parametrize("name", ["..", "-x", "a b", "refs/heads/x", "a/../b", "x" * 65, "a~1"])
def test_git_05_a_name_that_could_lead_elsewhere_is_refused(
    agent: Agent, source: str, repository: Repository, name: str
) -> None:
    """
    A fork has a session's name: no path and no reference can be made of it.
    """
    before = traces(repository)

    with pytest.raises(BadRequest, match="bad session name"):
        fork(agent, name)

    assert traces(repository) == before
    assert source == "work"


def test_git_05_a_name_that_is_taken_is_refused(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    A session, a directory or a branch of that name is in the way, and says so.
    """
    directory = repository.path.parent / "tree.agent-pty-forks" / "b"
    directory.mkdir(parents=True)
    repository.git("branch", "agent-pty/c")
    before = traces(repository)

    for name, error, said in (
        (source, SessionExists, "already exists"),
        ("b", ForkFailed, f"^fork workspace already exists: {directory}$"),
        ("c", ForkFailed, "branch agent-pty/c already exists"),
    ):
        with pytest.raises(error, match=said):
            fork(agent, name)

    assert traces(repository) == before


def test_a_session_that_has_ended_is_not_forked(agent: Agent, repository: Repository) -> None:
    """
    Only a program that runs can be continued.
    """
    agent.ask("new", id="work", repo=str(repository.path), argv=["true"])
    eventually(lambda: agent.info("work")["state"] == "exited")

    with pytest.raises(SessionEnded, match="only one that runs"):
        fork(agent)


def test_git_10_fifty_forks_at_once_are_all_valid(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    Fifty callers at the same time each get a fork, and git finds no fault with any of them.
    """
    expected = repository.git("status", "--short")

    with ThreadPoolExecutor(50) as callers:
        names = [f"f{number}" for number in range(50)]
        made = list(callers.map(lambda name: fork(agent, name), names))

    assert len({one["workspace"] for one in made}) == 50
    assert len(repository.git("worktree", "list").splitlines()) == 51
    for one in made[::7]:
        assert repository.git("status", "--short", cwd=Path(one["workspace"])) == expected
    repository.git("fsck", "--strict")
    assert source == "work"


@pytest.mark.parametrize("count", [1, 2])
def test_of_two_forks_with_one_name_the_one_that_was_made_stays(
    agent: Agent, source: str, repository: Repository, count: int
) -> None:
    """
    One caller has a fork that is known and can be removed; the other is refused, without a trace.
    """
    other = Repository(repository.path.parent / "other", agent.home).init().commit(a="other\n")
    agent.ask("new", id="second", repo=str(other.path), argv=BASH)
    agent.ask("ready", id="second")
    before = traces(repository), traces(other)
    # The last of several, so that those before it are made, too, before it is refused.
    asked = [(source, "dup", count), ("second", "dup" if count == 1 else f"dup-{count}", 1)]

    def attempt(given: tuple[str, str, int]) -> list[str]:
        name, new, many = given
        fields = {"name": new, "count": many, "copy_worktree": True}
        try:
            return [one["id"] for one in agent.ask("fork", id=name, **fields)["forks"]]
        except (SessionExists, ForkFailed):
            return []

    with ThreadPoolExecutor(2) as callers:
        answers = list(callers.map(attempt, asked))

    made = answers[0] or answers[1]
    assert [] in answers
    assert [one["id"] for one in agent.ask("forks")] == made
    for name in made:
        agent.ask("fork_remove", id=name, force=True)
    assert (traces(repository), traces(other)) == before
    assert {one["id"] for one in agent.ask("list")} == {source, "second"}


# -- what becomes of it


def test_git_11_a_fork_with_work_of_its_own_is_not_removed(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    Uncommitted files and commits that are nowhere else prevent it; `--force` does not mind.
    """
    before = traces(repository)
    made = fork(agent)
    with pytest.raises(ForkInUse, match="still runs in fork b"):
        agent.ask("fork_remove", id="b")
    output(agent, "b", "git config user.email a@b; git config user.name a")
    output(agent, "b", "git commit -qam c; echo x > only-here")
    agent.ask("kill", id="b")

    with pytest.raises(UnmergedWork, match=r"1 file\(s\) \(only-here\), 1 commit\(s\)") as refused:
        agent.ask("fork_remove", id="b")
    assert Path(made["workspace"], "only-here").exists()
    done = agent.cli("fork-remove", "b", "--force")

    assert refused.value.details == {"id": "b", "files": 1, "commits": 1}
    assert done.stdout == "removed b, with 1 changed file(s) and 1 commit(s)\n"
    assert traces(repository) == before
    assert source == "work"


def test_a_fork_without_work_is_removed_with_everything(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    What the source had not committed is no work of the fork: nothing is lost with it.
    """
    before = traces(repository)
    fork(agent)
    agent.ask("kill", id="b")

    assert agent.cli("fork-remove", "b").stdout == "removed b\n"

    assert traces(repository) == before
    with pytest.raises(UnknownFork, match="unknown fork b"):
        agent.ask("fork_remove", id="b")
    assert source == "work"


def test_forks_are_listed_with_their_state(agent: Agent, source: str) -> None:
    """
    The list says whose a fork is, where it works and how much was changed, over a restart too.
    """
    made = fork(agent)
    output(agent, "b", "echo x > x; echo y >> b.txt")

    expected = {
        "id": "b",
        "source_id": source,
        "workspace": made["workspace"],
        "branch": "agent-pty/b",
        "state": "running",
        "changed_files": 2,
        "commits": 0,
        "merged": False,
    }
    assert agent.ask("forks")[0].items() >= expected.items()
    agent.cli("stop")
    assert agent.ask("forks")[0].items() >= {**expected, "state": "gone"}.items()
    assert "b source=work state=gone branch=agent-pty/b changed=2" in agent.cli("forks").stdout


def test_the_winner_is_merged_after_it_was_shown(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    The diff is shown, then applied to the files of the source, where nothing is committed.
    """
    fork(agent)
    output(agent, "b", "echo fixed > b.txt; mkdir -p deep; echo new > deep/n.txt")

    dry = agent.cli("fork-merge", "b", "--dry-run")
    assert "+fixed" in dry.stdout
    assert (repository.path / "b.txt").read_text() == "two\n"
    done = agent.cli("fork-merge", "b")

    assert dry.stdout in done.stdout
    assert done.stdout.endswith(f"merged b into work: 2 file(s) in {repository.path}\n")
    assert (repository.path / "b.txt").read_text() == "fixed\n"
    assert (repository.path / "deep/n.txt").read_text() == "new\n"
    assert (repository.path / "a.txt").read_text() == "changed\n"
    agent.ask("kill", id="b")
    assert agent.cli("fork-remove", "b").stdout == "removed b\n"
    labels = agent.cli("replay", source).stdout
    assert "merged fork b: 2 file(s)" in labels


@pytest.mark.parametrize("kind", ["worktree", "copy"])
def test_a_second_merge_brings_only_what_is_new(
    agent: Agent, repository: Repository, kind: str
) -> None:
    """
    What was merged is no longer work of the fork: neither for the next merge nor for its removal.
    """
    if kind == "copy":
        shutil.rmtree(repository.path / ".git")
    agent.ask("new", id="work", repo=str(repository.path), argv=BASH)
    fork(agent)
    output(agent, "b", "echo fixed > b.txt; echo new > n.txt; chmod +x a.txt")
    agent.cli("fork-merge", "b")
    nothing = agent.cli("fork-merge", "b")
    assert (nothing.stdout, nothing.returncode) == ("nothing to merge\n", 0)
    assert json.loads(agent.cli("fork-merge", "b", "--json").stdout)["files"] == []
    assert agent.ask("forks")[0].items() >= {"changed_files": 0, "merged": True}.items()

    output(agent, "b", "echo again >> b.txt; rm n.txt; echo z > z.txt")
    agent.ask("kill", id="b")
    with pytest.raises(UnmergedWork, match=r"3 file\(s\) \(b.txt, n.txt, z.txt\), 0 commit"):
        agent.ask("fork_remove", id="b")
    merged = agent.ask("fork_merge", id="b")

    files = {one["path"]: one["status"] for one in merged["files"]}
    assert files == {"b.txt": "M", "n.txt": "D", "z.txt": "A"}
    assert (repository.path / "b.txt").read_text() == "fixed\nagain\n"
    assert not (repository.path / "n.txt").exists()
    assert agent.cli("fork-remove", "b").stdout == "removed b\n"


def test_commits_that_were_merged_are_no_work_any_more(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    A removal counts the commits since the last merge.
    """
    copy = Repository(Path(fork(agent)["workspace"]), repository.home)
    copy.commit(c="first\n")
    agent.ask("fork_merge", id="b")
    copy.commit(d="second\n")
    agent.ask("kill", id="b")

    with pytest.raises(UnmergedWork, match=r" 1 file\(s\) \(d.txt\), 1 commit\(s\)"):
        agent.ask("fork_remove", id="b")

    assert source == "work"


def test_what_was_merged_is_known_after_git_has_removed_it(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    A commit that was merged and then amended may be gone from the repository; we keep its files.
    """
    copy = Repository(Path(fork(agent)["workspace"]), repository.home)
    copy.commit(c="first\n")
    agent.ask("fork_merge", id="b")
    copy.git("reset", "--quiet", "--soft", "HEAD~1")
    copy.commit(c="second\n")
    copy.git("reflog", "expire", "--expire=now", "--all")
    copy.git("gc", "--quiet", "--prune=now")

    merged = agent.ask("fork_merge", id="b")

    assert [one["path"] for one in merged["files"]] == ["c.txt"]
    assert (repository.path / "c.txt").read_text() == "second\n"
    assert source == "work"


def test_a_merge_that_is_refused_is_not_remembered(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    What did not fit is still work of the fork, and so is what was only shown.
    """
    fork(agent)
    output(agent, "b", "echo fixed > b.txt")
    agent.ask("fork_merge", id="b")
    output(agent, "b", "echo again > b.txt")
    repository.write("b.txt", "meanwhile\n")
    with pytest.raises(MergeConflict, match=r"b\.txt"):
        agent.ask("fork_merge", id="b")
    repository.write("b.txt", "fixed\n")

    dry = agent.ask("fork_merge", id="b", dry_run=True)

    assert [one["path"] for one in dry["files"]] == ["b.txt"]
    assert agent.ask("forks")[0].items() >= {"changed_files": 1, "merged": False}.items()
    assert agent.ask("fork_merge", id="b")["applied"]
    assert (repository.path / "b.txt").read_text() == "again\n"
    assert source == "work"


def test_a_merge_that_does_not_fit_changes_nothing(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    If the source has changed in the same place, it is refused and the file is named.
    """
    fork(agent)
    output(agent, "b", "echo fixed > b.txt; echo also > a.txt")
    repository.write("b.txt", "meanwhile\n")

    with pytest.raises(MergeConflict, match=r"nothing was changed: .*b\.txt"):
        agent.ask("fork_merge", id="b")

    assert (repository.path / "a.txt").read_text() == "changed\n"
    assert source == "work"


def test_two_attempts_are_shown_side_by_side(agent: Agent, source: str) -> None:
    """
    Files with what each attempt did to them, cells with their exit codes, and how each stands.
    """
    fork(agent, "try", count=2)
    output(agent, "try-1", "echo fixed > b.txt; echo same > s; true")
    output(agent, "try-2", "echo wrong > b.txt; echo same > s; false")

    compared = agent.ask("fork_diff", id="try-1", other="try-2")

    files = {one["path"]: (one["status"], one["other_status"]) for one in compared["files"]}
    assert files == {"b.txt": ("M", "M"), "s": ("A", "A")}
    assert [one["path"] for one in compared["files"] if one["same"]] == ["s"]
    assert [one["cells"][-1]["exit_code"] for one in (compared["one"], compared["other"])] == [0, 1]
    shown = agent.cli("fork-diff", source, "try-1").stdout
    assert "-  M  differ  b.txt" in shown
    assert "try-1: running, 2 file(s) changed, 0 cell(s) failed, last cell exit 0" in shown


def test_a_directory_without_a_repository_is_forked_merged_and_removed(
    agent: Agent, tmp_path: Path
) -> None:
    """
    A plain directory is copied, and its fork compared, merged and removed like any other.
    """
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a").write_text("one\n")
    agent.ask("new", id="work", repo=str(plain), argv=BASH)

    made = fork(agent)
    assert (made["kind"], made["branch"]) == ("copy", None)
    output(agent, "b", "echo two > a; echo new > n")
    assert agent.ask("forks")[0]["changed_files"] == 2
    agent.ask("fork_merge", id="b")
    agent.ask("kill", id="b")
    agent.ask("fork_remove", id="b")

    assert (plain / "a").read_text() == "two\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("plain")) == [
        "plain"
    ]


def test_a_daemon_that_dies_while_it_copies_leaves_nothing(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    A copy that was begun is removed by the next daemon.
    """
    before = traces(repository)
    fork(agent)
    agent.ask("kill", id="b")
    path = Path(agent.layout.forks) / "b.json"
    record = json.loads(path.read_text())
    # As it is on the disk while a copy is made.
    unfinished = {**record["copy"], "admin": "", "branch": None, "base": ""}
    path.write_text(json.dumps({**record, "state": "making", "copy": unfinished}))

    slay(agent.pid_of("daemon"))
    agent.ask("screen", id=source)

    eventually(lambda: traces(repository) == before)
    assert not path.exists()


@pytest.mark.parametrize("op", ["fork_remove", "fork_merge"])
def test_git_05_no_name_leads_to_another_file(agent: Agent, tmp_path: Path, op: str) -> None:
    """
    What is asked about a fork is asked by a session's name; a path is refused and touches nothing.
    """
    other = tmp_path / "other.json"
    other.write_text("{}")
    agent.connect().close()
    name = os.path.relpath(other, agent.layout.forks).removesuffix(".json")

    with pytest.raises(BadRequest, match="bad session name"):
        agent.ask(op, id=name)

    assert other.read_text() == "{}"


def test_git_06_names_that_are_no_text_are_carried_and_named(
    agent: Agent, source: str, repository: Repository
) -> None:
    """
    A file may have any name: it is in the fork, and an ignored one is named as far as it can be.
    """
    repository.write(".gitignore", "*.log\n")
    for name in ("caf\udce9", "caf\udce9.log"):
        (repository.path / name).write_text("x\n")

    made = fork(agent)

    assert (Path(made["workspace"]) / "caf\udce9").read_text() == "x\n"
    assert made["left_out"] == ["ignored by git (1): caf\ufffd.log"]
    assert source == "work"


def test_fs_11_a_fork_never_leaves_the_directory_beside_its_source(
    agent: Agent, repository: Repository
) -> None:
    """
    Whatever subdirectory a session works in, its fork is beside the repository, not inside it.
    """
    agent.ask("new", id="work", repo=str(repository.path / "lib"), argv=BASH)

    made = fork(agent)

    root = repository.path.parent / "tree.agent-pty-forks" / "b"
    assert made["workspace"] == str(root / "lib")
    assert output(agent, "b", "pwd") == str(root / "lib")
    assert b"agent-pty-forks" not in repository.git("status", "--short")


def test_no_git_of_the_session_reaches_the_fork(agent: Agent, repository: Repository) -> None:
    """
    A `git` and settings that the session has in its environment are not used by the daemon.
    """
    agent.ask(
        "new",
        id="work",
        repo=str(repository.path),
        argv=BASH,
        env={"GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere"},
    )

    made = fork(agent)

    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    status = ["git", "-C", made["workspace"], "status", "--short"]
    shown = subprocess.run(status, env=clean, capture_output=True, check=True).stdout
    assert shown == repository.git("status", "--short")
