"""Branches of a repository, made and removed by a git that sees nothing else of it.

The directory of ours has the repository's references and objects, but neither its configuration
nor its hooks.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator

from agent_pty.core.evidence.git_config import private_config
from agent_pty.process.git_access import Means
from agent_pty.process.git_private_directory import temporary_directory, write_file
from agent_pty.process.git_program import Git
from agent_pty.process.git_reftable import has_reftable
from agent_pty.process.git_work_tree import (
    CannotLook,
    WorkTree,
    regular_file,
    repository_settings,
)

_HEADS = "refs/heads/"


@contextlib.contextmanager
def _references(tree: WorkTree, given: Means) -> Iterator[Git]:
    repository = repository_settings(tree)
    if has_reftable(repository):
        raise CannotLook(f"{tree.common_directory} keeps its references in a reftable")
    with temporary_directory(given.scratch) as place:
        write_file(os.path.join(place, "HEAD"), "ref: refs/heads/unborn\n")
        write_file(os.path.join(place, "config"), private_config({}, repository, {}))
        os.symlink(os.path.join(tree.common_directory, "refs"), os.path.join(place, "refs"))
        packed = os.path.join(tree.common_directory, "packed-refs")
        if (handle := regular_file(packed)) is not None:
            os.close(handle)
            os.symlink(packed, os.path.join(place, "packed-refs"))
        yield Git(program=given.program, directory=place, tree=tree, bounds=given.bounds)


def create_branch(tree: WorkTree, given: Means, name: str, commit: str) -> None:
    """Make a branch; raise `CannotLook` if there is one of that name."""
    with _references(tree, given) as git:
        git.run(["check-ref-format", f"{_HEADS}{name}"])
        asked = os.path.join(git.directory, "asked")
        write_file(asked, f"create {_HEADS}{name} {commit}\n")
        git.run(["update-ref", "--stdin"], stdin=asked)


def delete_branch(tree: WorkTree, given: Means, name: str) -> None:
    """Remove a branch, if there is one."""
    with _references(tree, given) as git:
        if branch_commit(git, name) is not None:
            git.run(["update-ref", "--no-deref", "-d", f"{_HEADS}{name}"])


def branch_commit(git: Git, name: str) -> str | None:
    """Return the commit of a branch; None if there is no such branch."""
    [answer] = git.run(["for-each-ref", "--format=%(objectname)", f"{_HEADS}{name}"])
    return answer.kept.decode().strip() or None


def has_branch(tree: WorkTree, given: Means, name: str) -> bool:
    """Whether there is a branch of this name."""
    return branch_tip(tree, given, name) is not None


def branch_tip(tree: WorkTree, given: Means, name: str) -> str | None:
    """Return the commit of a branch; None if there is no such branch."""
    with _references(tree, given) as git:
        return branch_commit(git, name)


def commits_only_here(tree: WorkTree, given: Means, name: str, *, since: Collection[str]) -> int:
    """Count the commits of a branch that no other branch, tag or remote has.

    Those up to the commits *since* were there before.
    """
    with _references(tree, given) as git:
        tip = branch_commit(git, name)
        if tip is None or tip in since:
            return 0
        others = ["--not", f"--exclude={_HEADS}{name}", "--all", *since]
        # A commit that was merged may be gone: the branch was reset, and git removed it.
        [answer] = git.run(["rev-list", "--ignore-missing", "--count", tip, *others])
        return int(answer.kept)
