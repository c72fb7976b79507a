"""Make a copy of a directory for a fork, and remove it again.

In a git repository the copy is a linked work tree on a branch of its own, with everything that is
not committed in the source; ignored files are not in it. Any other directory is copied whole. If
anything fails, nothing of the copy is left. Neither the files nor the index nor the branch of the
source are touched.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from agent_pty.core.evidence.git_snapshot import Skipped
from agent_pty.core.fork import ForkCopy, branch_name, fork_directory, safe_id
from agent_pty.process.bounded_run import Expired
from agent_pty.process.directory_copy import copy_directory
from agent_pty.process.git_access import Means, means, opened, seconds_from_now
from agent_pty.process.git_references import create_branch, delete_branch, has_branch
from agent_pty.process.git_tree import make_private, objects_beside, state_tree
from agent_pty.process.git_work_tree import CannotLook, WorkTree, work_tree
from agent_pty.process.git_worktree_link import (
    carry_state,
    find_links,
    make_link,
    refresh_index,
    remove_link,
)
from agent_pty.process.nested_repository import carry_files

_SECONDS = 300.0
_MOST = 1 << 30

Undo = Callable[..., object]


class CannotFork(Exception):
    """No copy was made, and nothing is left of one; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A directory that can be forked; without *tree* it is in no repository."""

    root: str
    tree: WorkTree | None


def git_means(scratch: str) -> Means:
    """Return what git is run with for a fork; raise `CannotLook` if there is no git."""
    os.makedirs(scratch, mode=0o700, exist_ok=True)
    return means(scratch, seconds_from_now(_SECONDS, kept=_MOST, read=_MOST))


def find_source(workspace: str) -> Source:
    """Return what is copied for a session that works in a directory."""
    found = work_tree(workspace)
    if isinstance(found, Skipped):
        raise CannotFork(f"{workspace} cannot be forked: {found.why}")
    root = os.path.realpath(workspace) if found is None else found.root
    if root == os.path.dirname(root):
        raise CannotFork(f"{root} cannot be forked: there is no directory beside it")
    return Source(root=root, tree=None if found is None else replace(found, workspace=found.root))


def check_free(source: Source, name: str, given: Means) -> None:
    """Raise `CannotFork` if the directory or the branch of a fork is there already."""
    directory = fork_directory(source.root, name)
    if os.path.lexists(directory):
        raise CannotFork(f"fork workspace already exists: {directory}")
    if source.tree is not None:
        with as_cannot_fork():
            if has_branch(source.tree, given, branch_name(name)):
                raise CannotFork(
                    f"branch {branch_name(name)} already exists in {source.root}: choose "
                    "another name, or remove the branch"
                )


def make_copy(source: Source, name: str, given: Means, *, store: str) -> ForkCopy:
    """Copy a source; how it was is kept in the directory *store*."""
    check_free(source, name, given)
    directory = fork_directory(source.root, name)
    with as_cannot_fork(), contextlib.ExitStack() as undo:
        undo.callback(_remove_directory, directory)
        undo.callback(shutil.rmtree, store, ignore_errors=True)
        os.makedirs(os.path.dirname(directory), mode=0o700, exist_ok=True)
        os.mkdir(directory, 0o700)
        if source.tree is None:
            made = _copy_plain(source.root, directory, given, store)
        else:
            made = _copy_repository(
                source.tree, directory, given, name=name, store=store, undo=undo.callback
            )
        os.chmod(directory, stat.S_IMODE(os.stat(source.root).st_mode))
        undo.pop_all()
    return made


def _copy_repository(
    tree: WorkTree, directory: str, given: Means, *, name: str, store: str, undo: Undo
) -> ForkCopy:
    branch = branch_name(name)
    with opened(tree, given) as source:
        commit = source.head.commit
        if commit is not None:
            create_branch(tree, given, branch, commit)
            undo(delete_branch, tree, given, branch)
        admin = make_link(tree, directory, safe_id(name), branch)
        undo(remove_link, admin)
        left_out = carry_state(tree, admin, source.git)
        carried = carry_files(source.git, directory, admin, given)
    copy = WorkTree(
        workspace=directory,
        root=directory,
        git_directory=admin,
        common_directory=tree.common_directory,
    )
    # What is not committed is written into a directory of ours: it may be secret.
    objects = objects_beside(store, tree.common_directory)
    with opened(copy, given, objects=objects) as made:
        refresh_index(made.git, admin)
        base = state_tree(made.git)
    return ForkCopy(
        kind="worktree",
        root=tree.root,
        directory=directory,
        branch=branch,
        commit=commit,
        base=base,
        repository=tree.common_directory,
        store=store,
        admin=admin,
        nested=carried.nested,
        left_out=[_text(one) for one in (*left_out, *carried.left_out)],
    )


def _copy_plain(root: str, directory: str, given: Means, store: str) -> ForkCopy:
    """Copy a directory that is in no repository; a small repository keeps how it was."""
    copied = copy_directory(root, directory, given)
    tree = plain_tree(directory, store)
    with opened(tree, given, objects=os.path.join(store, "objects")) as made:
        base = state_tree(made.git, ignore=False)
    return ForkCopy(
        kind="copy",
        root=root,
        directory=directory,
        branch=None,
        commit=None,
        base=base,
        repository=store,
        store=store,
        admin=store,
        nested=copied.nested,
        left_out=[_text(one) for one in copied.left_out],
    )


def _text(names: str) -> str:
    """Return what can be written into an answer: a file may have any name."""
    return names.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def plain_tree(directory: str, store: str) -> WorkTree:
    """Return a directory as the work tree of the repository that keeps how it was."""
    make_private(os.path.join(store, "objects"))
    for name, text in (("HEAD", b"ref: refs/heads/unborn\n"), ("config", b"")):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        with open(os.open(os.path.join(store, name), flags, 0o600), "wb") as file:
            file.write(text)
    return WorkTree(
        workspace=directory, root=directory, git_directory=store, common_directory=store
    )


def remove_copy(name: str, copy: ForkCopy, given: Means) -> None:
    """Remove a copy with its branch, also one that was not finished.

    What is gone already is no mistake.
    """
    _check_not_source(copy)
    with as_cannot_fork():
        shutil.rmtree(copy.store, ignore_errors=True)
        if copy.kind == "copy":
            _remove_directory(copy.directory)
            return
        found = work_tree(copy.root) if os.path.isdir(copy.root) else None
        for admin in find_links(copy.repository, copy.directory):
            remove_link(admin)
        _remove_directory(copy.directory)
        if isinstance(found, WorkTree):
            delete_branch(found, given, branch_name(name))


def _check_not_source(copy: ForkCopy) -> None:
    """Refuse to remove what no fork can be, whatever a file says."""
    place = f"{copy.root}.agent-pty-forks/"
    if not copy.directory.startswith(place) or "/" in copy.directory.removeprefix(place):
        raise CannotFork(f"{copy.directory} is not the copy of {copy.root}: it is not removed")


def _remove_directory(directory: str) -> None:
    if os.path.isdir(directory) and not os.path.islink(directory):
        _make_removable(directory)
        shutil.rmtree(directory)
    with contextlib.suppress(OSError):  # other forks are there
        os.rmdir(os.path.dirname(directory))


def _make_removable(directory: str) -> None:
    """Let directories that were made read-only be emptied."""
    for place, directories, _ in os.walk(directory):
        for name in directories:
            path = os.path.join(place, name)
            if not os.path.islink(path) and not os.access(path, os.W_OK | os.X_OK):
                os.chmod(path, 0o700)


@contextlib.contextmanager
def as_cannot_fork() -> Iterator[None]:
    """Raise what went wrong with git or with files as `CannotFork`."""
    try:
        yield
    except Expired:
        raise CannotFork(f"git took longer than {_SECONDS:g} s") from None
    except (CannotLook, OSError) as error:
        raise CannotFork(str(error)) from error
