"""Where a work tree is and what HEAD is: read from files that anybody may have written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from agent_pty.core.evidence.git_snapshot import Skipped
from agent_pty.process.git_work_tree import CannotLook, Head, WorkTree, head, work_tree
from support.git import Repository, needs_git
from support.small_disk import small_disk

pytestmark = needs_git


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with one commit."""
    return Repository(tmp_path / "tree", tmp_path / "home").init().commit(a="x")


def found(directory: Path) -> WorkTree:
    """Return a work tree that is there."""
    tree = work_tree(str(directory))
    assert isinstance(tree, WorkTree), tree
    return tree


def why_skipped(directory: Path) -> str:
    """Return why there is no work tree to look at."""
    tree = work_tree(str(directory))
    assert isinstance(tree, Skipped), tree
    return tree.why


def test_git_08_a_directory_in_no_repository_is_nothing(tmp_path: Path) -> None:
    """
    No repository is no failure: there is nothing to say.
    """
    assert work_tree(str(tmp_path)) is None


def test_a_work_tree_is_found_from_any_directory_in_it(repository: Repository) -> None:
    """
    The next repository above counts.
    """
    deep = repository.path / "one/two"
    deep.mkdir(parents=True)

    assert found(deep) == WorkTree(
        workspace=str(deep),
        root=str(repository.path),
        git_directory=str(repository.path / ".git"),
        common_directory=str(repository.path / ".git"),
    )


def test_a_directory_called_git_is_not_enough(repository: Repository) -> None:
    """
    As git does, pass over a `.git` that is no git directory.
    """
    inner = repository.path / "inner"
    (inner / ".git/objects").mkdir(parents=True)

    assert found(inner).root == str(repository.path)


def test_git_08_a_bare_repository_has_no_work_tree(tmp_path: Path, repository: Repository) -> None:
    """
    The reason names it; so it is inside of `.git`, and in one that lies in another work tree.
    """
    bare = Repository(repository.path / "bare", tmp_path / "home")
    bare.git("init", "--quiet", "--bare", ".")

    assert why_skipped(bare.path) == f"{bare.path} is a git directory without a work tree"
    assert why_skipped(bare.path / "refs").startswith(f"{bare.path} is a git directory")
    assert why_skipped(repository.path / ".git").endswith(
        ".git is a git directory without a work tree"
    )


@pytest.mark.parametrize("text", ["", "nonsense", "gitdir: /nowhere", "gitdir: "])
def test_a_file_called_git_must_name_a_repository(tmp_path: Path, text: str) -> None:
    """
    Git refuses to work there, and so is the directory above not meant.
    """
    (tmp_path / ".git").write_text(text)

    assert str(tmp_path / ".git") in why_skipped(tmp_path)


@pytest.mark.parametrize("name", [".git", ".git/HEAD", ".git/commondir"])
def test_nothing_waits_for_a_pipe(repository: Repository, name: str) -> None:
    """
    A named pipe in place of a file would never end.
    """
    path = repository.path / name
    if name == ".git":
        path.rename(repository.path / "moved")
    path.unlink(missing_ok=True)
    os.mkfifo(path)

    tree = work_tree(str(repository.path))

    if isinstance(tree, WorkTree):
        with pytest.raises(CannotLook, match="is not a regular file"):
            head(tree)
    else:
        assert tree == Skipped(why=f"{path} is not a regular file")


def test_a_work_tree_does_not_reach_across_file_systems(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    As git does, stop at a mount point.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(repository.path))
    with small_disk(1) as disk:
        inside = Repository(disk.path / "inside", repository.home)

        assert (
            repository.git("rev-parse", "--is-inside-work-tree", cwd=inside.path, ok=False) == b""
        )
        assert work_tree(str(inside.path)) is None


def test_head_is_a_branch_or_a_commit(repository: Repository) -> None:
    """
    It is resolved from loose and packed references; without a commit the branch is unborn.
    """
    commit = repository.git("rev-parse", "HEAD").decode().strip()
    tree = found(repository.path)

    assert head(tree) == Head(commit=commit, branch="main")
    repository.git("branch", "main-2")
    repository.git("pack-refs", "--all")
    assert head(tree) == Head(commit=commit, branch="main")
    repository.git("checkout", "--quiet", "--detach")
    assert head(tree) == Head(commit=commit, branch=None)
    repository.git("checkout", "--quiet", "--orphan", "fr/esh")
    assert head(tree) == Head(commit=None, branch="fr/esh")


def test_a_loose_reference_counts_before_a_packed_one(repository: Repository) -> None:
    """
    Git does not change the packed file when a branch moves.
    """
    repository.git("pack-refs", "--all")
    repository.commit(a="y")

    commit = repository.git("rev-parse", "HEAD").decode().strip()
    assert head(found(repository.path)) == Head(commit=commit, branch="main")


def test_an_empty_directory_is_no_reference(repository: Repository) -> None:
    """
    Git leaves directories where branches with a slash were.
    """
    repository.git("pack-refs", "--all")
    (repository.path / ".git/refs/heads/main").mkdir()

    assert head(found(repository.path)).commit is not None


def test_a_repository_without_head_is_none(repository: Repository) -> None:
    """
    A missing HEAD is not an unborn branch: the repository is being removed, or is damaged.
    """
    tree = found(repository.path)
    (repository.path / ".git/HEAD").unlink()

    with pytest.raises(CannotLook, match="has no HEAD"):
        head(tree)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "ref: /etc/passwd",
        "ref: refs/../../../etc/passwd",
        "ref: refs/heads/loop",
        "0123",
        "x" * 2_000_000,
    ],
)
def test_a_head_that_names_nothing_is_a_reason(repository: Repository, text: str) -> None:
    """
    Nothing outside of the references is read, nothing without end, and nothing is guessed.
    """
    (repository.path / ".git/refs/heads/loop").write_text("ref: refs/heads/loop\n")
    (repository.path / ".git/HEAD").write_text(text)

    with pytest.raises(CannotLook, match="HEAD"):
        head(found(repository.path))
