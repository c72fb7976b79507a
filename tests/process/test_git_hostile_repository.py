"""A repository that names programs wherever it can: a look runs none of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_pty.core.evidence.git_snapshot import GitSnapshot, Skipped
from agent_pty.process.git_snapshot import look
from agent_pty.process.git_work_tree import WorkTree, work_tree
from support.git import PLACE, Repository, needs_git

pytestmark = needs_git

LONG = 60.0
MOMENT = (2_000_000_000, 2_000_000_000)
# What runs when its user asks git for status and diff in this repository. Others that are planted
# are for other commands.
RUN_BY_GIT = {
    "clean",
    "command",
    "embedded-fsmonitor",
    "external",
    "fsmonitor",
    "hooks-path",
    "included-clean",
    "process",
    "submodule-fsmonitor",
    "textconv",
}


class Marks:
    """Programs that leave a mark when they are run."""

    def __init__(self, directory: Path) -> None:
        self._programs = directory / "programs"
        self._marks = directory / "marks"
        self._programs.mkdir(parents=True)
        self._marks.mkdir()

    def program(self, name: str, *, at: Path | None = None) -> str:
        """Return a program that makes a file of this name, and copies the file it is given."""
        path = at or self._programs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        mark = f": > '{self._marks}/{name}'"
        path.write_text(f'#!/bin/sh\n{mark}\n[ -e "$1" ] && exec cat "$1"\nexec cat\n')
        path.chmod(0o755)
        return str(path)

    def left(self) -> set[str]:
        """Name the programs that were run."""
        return {path.name for path in self._marks.iterdir()}

    def wipe(self) -> None:
        """Forget them."""
        for path in self._marks.iterdir():
            path.unlink()


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    """Programs that leave a mark."""
    return Marks(tmp_path / "evil")


@pytest.fixture
def hostile(tmp_path: Path, marks: Marks) -> Repository:
    """A repository with two commits in which everything is planted that we know of."""
    repository = Repository(tmp_path / "tree", tmp_path / "home").init()
    attributes = "*.clean filter=clean\n*.process filter=process\n*.inc filter=included\n"
    drivers = "*.textconv diff=textconv\n*.command diff=command\n"
    repository.write(".gitattributes", attributes + drivers)
    for name in ("clean", "process", "inc", "textconv", "command"):
        repository.write(f"a.{name}", "one\n")
    _add_submodule(repository)
    _add_embedded(repository, marks)
    repository.commit(a="one\n").commit(a="two\n")
    (repository.path / ".git/info/attributes").write_text(attributes)
    _plant(repository.path / ".git", marks)
    included = repository.path / ".git/included"
    included.write_text(f'[filter "included"]\nclean = "{marks.program("included-clean")}"\n')
    sub = repository.path / ".git/modules/sub/config"
    with sub.open("a") as file:
        file.write(f'[core]\nfsmonitor = "{marks.program("submodule-fsmonitor")}"\n')
    (repository.home / ".gitconfig").write_text((repository.path / ".git/config").read_text())
    return repository


def _add_submodule(repository: Repository) -> None:
    other = Repository(repository.path.parent / "other", repository.home).init().commit(a="x")
    allowed = ("-c", "protocol.file.allow=always")
    repository.git(*allowed, "submodule", "--quiet", "add", str(other.path), "sub")


def _add_embedded(repository: Repository, marks: Marks) -> None:
    embedded = Repository(repository.path / "embedded", repository.home)
    embedded.git("init", "--quiet", "--bare", ".")
    with (embedded.path / "config").open("a") as file:
        monitor = marks.program("embedded-fsmonitor")
        file.write(f'[core]\nbare = false\nworktree = ..\nfsmonitor = "{monitor}"\n')


def _plant(git_directory: Path, marks: Marks) -> None:
    hooks = git_directory.parent.parent / "hooks"
    marks.program("hooks-path", at=hooks / "post-index-change")
    marks.program("hook", at=git_directory / "hooks/post-index-change")
    program = marks.program
    config = f"""
[include]
    path = included
[core]
    fsmonitor = "{program("fsmonitor")}"
    hooksPath = "{hooks}"
    pager = "{program("pager")}"
    editor = "{program("editor")}"
    sshCommand = "{program("ssh")}"
    askPass = "{program("ask-pass")}"
    alternateRefsCommand = "{program("alternate-refs")}"
    gitProxy = "{program("proxy")}"
[pager]
    status = "{program("pager-status")}"
    diff = "{program("pager-diff")}"
[alias]
    status = "!{program("alias-status")}"
    diff = "!{program("alias-diff")}"
    rev-parse = "!{program("alias-rev-parse")}"
[diff]
    external = "{program("external")}"
[diff "textconv"]
    textconv = "{program("textconv")}"
[diff "command"]
    command = "{program("command")}"
[filter "clean"]
    clean = "{program("clean")}"
    smudge = "{program("smudge")}"
    required = true
[filter "process"]
    process = "{program("process")}"
[interactive]
    diffFilter = "{program("diff-filter")}"
[gpg]
    program = "{program("gpg")}"
[credential]
    helper = "!{program("credential")}"
"""
    with (git_directory / "config").open("a") as file:
        file.write(config)


def _clean(repository: Repository) -> None:
    """Leave it as it was committed, but so that git must read the files to know."""
    for path in repository.path.glob("a.*"):
        os.utime(path, MOMENT)
    refresh = ("update-index", "--refresh", "-q")
    repository.git(
        "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *refresh, ok=False
    )
    os.utime(repository.path / ".git/index", MOMENT)


def _dirty(repository: Repository) -> None:
    for path in repository.path.glob("a.*"):
        path.write_text("three\n")
    (repository.path / "sub/a.txt").write_text("changed")


def _racy(repository: Repository) -> None:
    _clean(repository)
    for path in repository.path.glob("a.*"):
        path.write_text(path.read_text().upper())
        os.utime(path, MOMENT)


STATES = {"clean": _clean, "dirty": _dirty, "racy": _racy}


def looked(repository: Repository, cwd: Path, tmp_path: Path) -> GitSnapshot | Skipped | None:
    """Look from a directory."""
    tree = work_tree(str(cwd))
    if not isinstance(tree, WorkTree):
        return tree
    return look(tree, scratch=str(tmp_path), limit=LONG, home=str(repository.home), path=PLACE)


def test_must_hold_6_a_look_runs_nothing_of_the_repository(
    hostile: Repository, marks: Marks, tmp_path: Path
) -> None:
    """
    In every state and directory no program of the repository is run, although git runs them.
    """
    inner = [hostile.path, hostile.path / "sub", hostile.path / "embedded"]
    for bring in STATES.values():
        bring(hostile)
        marks.wipe()

        found = [looked(hostile, cwd, tmp_path) for cwd in inner]

        assert marks.left() == set()
        assert [type(one) for one in found] == [GitSnapshot, GitSnapshot, Skipped]

    _dirty(hostile)
    for cwd in inner:
        hostile.git("status", cwd=cwd, ok=False)
        hostile.git("diff", cwd=cwd, ok=False)
        hostile.git("diff", "--no-ext-diff", cwd=cwd, ok=False)
    assert marks.left() >= RUN_BY_GIT


def test_a_look_sees_changes_that_only_the_content_shows(
    hostile: Repository, tmp_path: Path
) -> None:
    """
    Where git reads the files itself it sees what was changed, although it runs no filter for that.
    """
    _clean(hostile)
    clean = looked(hostile, hostile.path, tmp_path)
    _racy(hostile)
    racy = looked(hostile, hostile.path, tmp_path)

    assert isinstance(clean, GitSnapshot)
    assert isinstance(racy, GitSnapshot)
    assert clean.status_short == ""
    assert "+ONE" in racy.diff
    assert set(racy.unfiltered) == {"a.clean", "a.process"}


def test_must_hold_6_missing_objects_are_not_fetched(
    hostile: Repository, marks: Marks, tmp_path: Path
) -> None:
    """
    The remote of a partial clone may be a program; a look is skipped instead of asking it.
    """
    # It must not answer what it is sent: git would wait for more.
    url = f"ext::{marks.program('remote')} /dev/null"
    with (hostile.path / ".git/config").open("a") as file:
        file.write(f'[remote "origin"]\nurl = "{url}"\npromisor = true\n')
        file.write("[extensions]\npartialClone = origin\n[protocol]\nallow = always\n")
    name = hostile.git("rev-parse", "HEAD:a.txt").decode().strip()
    (hostile.path / f".git/objects/{name[:2]}/{name[2:]}").unlink()
    hostile.write("a.txt", "three\n")
    marks.wipe()

    found = looked(hostile, hostile.path, tmp_path)

    assert marks.left() == set()
    assert isinstance(found, Skipped)
    assert name in found.why
    hostile.git("diff", "--no-ext-diff", ok=False)
    assert "remote" in marks.left()


def test_git_03_the_environment_of_the_caller_does_not_reach_git(
    hostile: Repository, marks: Marks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    No variable of whoever looks changes which repository is looked at, or runs a program.
    """
    _dirty(hostile)
    plain = looked(hostile, hostile.path, tmp_path)
    other = Repository(tmp_path / "second", hostile.home).init()
    program = marks.program("environment")
    variables = {
        "GIT_DIR": str(other.path / ".git"),
        "GIT_WORK_TREE": str(other.path),
        "GIT_INDEX_FILE": str(other.path / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other.path / ".git/objects"),
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": program,
        "GIT_CONFIG_KEY_1": "diff.external",
        "GIT_CONFIG_VALUE_1": program,
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={program}'",
        "GIT_EXTERNAL_DIFF": program,
        "GIT_EXEC_PATH": str(tmp_path),
        "GIT_PAGER": program,
        "GIT_TRACE": str(tmp_path / "trace"),
        "PATH": os.path.dirname(marks.program("git", at=tmp_path / "bin/git")),
        "TMPDIR": "/nowhere",
    }
    tree = work_tree(str(hostile.path))
    assert isinstance(tree, WorkTree)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    found = look(tree, scratch=str(tmp_path), limit=LONG, home=str(hostile.home))

    assert marks.left() == set()
    assert isinstance(plain, GitSnapshot)
    assert isinstance(found, GitSnapshot)
    assert (found.head_commit, found.status_short, found.diff) == (
        plain.head_commit,
        plain.status_short,
        plain.diff,
    )
    assert not (tmp_path / "trace").exists()


def test_whether_a_submodule_has_changes_is_not_asked(
    hostile: Repository, marks: Marks, tmp_path: Path
) -> None:
    """
    Git would start another git there, with the submodule's configuration.
    """
    (hostile.path / "sub/a.txt").write_text("changed")
    marks.wipe()

    found = looked(hostile, hostile.path, tmp_path)

    assert isinstance(found, GitSnapshot)
    assert "sub" not in found.status_short
    assert marks.left() == set()
