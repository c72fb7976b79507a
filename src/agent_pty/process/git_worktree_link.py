"""A linked work tree, made by its files: as `git worktree add` makes it, but without a checkout.

Nothing of the repository is run for it, and its own index is only read.
"""

from __future__ import annotations

import contextlib
import os
import shutil

from agent_pty.core.evidence.git_config import is_true, parsed
from agent_pty.process.git_private_directory import copy_index, write_file
from agent_pty.process.git_program import Git
from agent_pty.process.git_work_tree import WorkTree, repository_settings

# What a merge, a cherry-pick or a revert has begun: it continues on the branch of the fork.
_BEGUN = (
    *("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "SQUASH_MSG"),
    *("CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD"),
)
# These would continue on the branch of the source.
_NOT_CARRIED = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "BISECT_LOG": "a bisection",
    "sequencer": "a sequence of commits",
}


def make_link(tree: WorkTree, directory: str, name: str, branch: str) -> str:
    """Make *directory* a linked work tree on *branch*; return its git directory."""
    admin = _own_directory(tree, name)
    write_file(os.path.join(admin, "gitdir"), os.path.join(directory, ".git") + "\n")
    write_file(os.path.join(admin, "commondir"), "../..\n")
    write_file(os.path.join(admin, "HEAD"), f"ref: refs/heads/{branch}\n")
    write_file(os.path.join(directory, ".git"), f"gitdir: {admin}\n")
    return admin


def _own_directory(tree: WorkTree, name: str) -> str:
    place = os.path.join(tree.common_directory, "worktrees")
    os.makedirs(place, exist_ok=True)
    number = 0
    while True:
        admin = os.path.join(place, f"{name}{number or ''}")
        try:
            os.mkdir(admin)
        except FileExistsError:
            number += 1
        else:
            return admin


def carry_state(tree: WorkTree, admin: str, git: Git) -> list[str]:
    """Copy what belongs to a work tree beside its files; return what was left out."""
    copy_index(tree.git_directory, admin, git.bounds.until)
    for name in _BEGUN:
        source = os.path.join(tree.git_directory, name)
        if os.path.isfile(source):
            shutil.copyfile(source, os.path.join(admin, name), follow_symlinks=False)
    _carry_settings(tree, admin, git)
    return [
        f"{what} that has begun: it would continue on the branch of the source"
        for what in dict.fromkeys(
            what
            for name, what in _NOT_CARRIED.items()
            if os.path.exists(os.path.join(tree.git_directory, name))
        )
    ]


def _carry_settings(tree: WorkTree, admin: str, git: Git) -> None:
    sparse = os.path.join(tree.git_directory, "info", "sparse-checkout")
    if os.path.isfile(sparse):
        os.makedirs(os.path.join(admin, "info"), exist_ok=True)
        shutil.copyfile(sparse, os.path.join(admin, "info", "sparse-checkout"))
    own = os.path.join(tree.git_directory, "config.worktree")
    if is_true(repository_settings(tree), "extensions.worktreeconfig") and os.path.isfile(own):
        copy = os.path.join(admin, "config.worktree")
        shutil.copyfile(own, copy)
        # These two are about the work tree of the source.
        with open(copy, "rb") as file:
            settings = parsed(os.fsdecode(file.read()))
        for name in {"core.worktree", "core.bare"} & settings.keys():
            git.run(["config", "--file", copy, "--unset-all", name])


def refresh_index(git: Git, admin: str) -> None:
    """Note in the index how the copied files look: git would read all of them again."""
    tolerant = ["-q", "--unmerged", "--ignore-missing", "--ignore-submodules"]
    git.run(["update-index", *tolerant, "--no-split-index", "--refresh"])
    ours = os.path.join(git.directory, "index")
    if os.path.exists(ours):
        shutil.copyfile(ours, os.path.join(admin, "index"))
        for name in os.listdir(admin):
            if name.startswith("sharedindex."):
                os.unlink(os.path.join(admin, name))


def find_links(repository: str, directory: str) -> list[str]:
    """Return the git directories of a linked work tree, by where it is."""
    place = os.path.join(repository, "worktrees")
    if not os.path.isdir(place):
        return []
    found = []
    for name in os.listdir(place):
        with contextlib.suppress(OSError), open(os.path.join(place, name, "gitdir"), "rb") as file:
            if os.fsdecode(file.read().rstrip(b"\n")) == os.path.join(directory, ".git"):
                found.append(os.path.join(place, name))
    return found


def remove_link(admin: str) -> None:
    """Forget a linked work tree; its files are not touched."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(admin)
    with contextlib.suppress(OSError):  # others are there
        os.rmdir(os.path.dirname(admin))
