"""HEAD of a repository whose references are in a reftable: only git can read that format.

It reads them through a directory of ours that has nothing else of the repository.
"""

from __future__ import annotations

import os

from agent_pty.core.evidence.git_config import Settings, private_config
from agent_pty.process.git_private_directory import write_file
from agent_pty.process.git_program import Git
from agent_pty.process.git_work_tree import Head, WorkTree

_STORAGE = "extensions.refstorage"
_RESERVED = "ref: refs/heads/.invalid\n"  # says that HEAD is elsewhere


def has_reftable(repository: Settings) -> bool:
    """Whether a repository keeps its references in a reftable."""
    return repository.get(_STORAGE, "").lower() == "reftable"


def reftable_head(git: Git) -> Head:
    """Have git resolve HEAD."""
    branch, commit = git.run(["branch", "--show-current"], ["rev-parse", "--revs-only", "HEAD"])
    return Head(
        commit=commit.kept.decode().strip() or None,
        branch=branch.kept.decode(errors="replace").strip() or None,
    )


def fill_for_reftable(place: str, tree: WorkTree, repository: Settings) -> None:
    """Make an empty directory a git directory with the references of a repository."""
    config = private_config({}, repository, {_STORAGE: "reftable"})
    common = place
    if tree.git_directory != tree.common_directory:
        common = os.path.join(place, "common")
        os.mkdir(common)
        write_file(os.path.join(place, "commondir"), "common\n")
        write_file(os.path.join(common, "HEAD"), _RESERVED)
        os.symlink(os.path.join(tree.git_directory, "reftable"), os.path.join(place, "reftable"))
    write_file(os.path.join(place, "HEAD"), _RESERVED)
    write_file(os.path.join(common, "config"), config)
    os.mkdir(os.path.join(common, "refs"))
    os.symlink(os.path.join(tree.common_directory, "reftable"), os.path.join(common, "reftable"))
