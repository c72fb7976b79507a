"""What was done in a fork since it was made or merged, and how that comes into the source."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from agent_pty.core.fork import ForkCopy, MergedWork
from agent_pty.process.fork_copy import CannotFork, as_cannot_fork, plain_tree
from agent_pty.process.git_access import Means, opened
from agent_pty.process.git_private_directory import temporary_directory
from agent_pty.process.git_program import Git
from agent_pty.process.git_references import branch_tip, commits_only_here
from agent_pty.process.git_tree import (
    Change,
    apply,
    changes,
    keep_objects,
    objects_beside,
    patch,
    state_tree,
)
from agent_pty.process.git_work_tree import CannotLook, WorkTree, work_tree
from agent_pty.process.nested_repository import nested_state, own_tree

# A tree, the base that it is compared with, and where the objects of that are.
Side = tuple[WorkTree, str, str]


class DoesNotApply(Exception):
    """The source has changed where the fork has; nothing was applied. The text says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a fork has that its source had not and that was not merged: *tree* is all its files.

    *nested* are repositories inside it that have changed, *commits* how many commits only its
    branch has, *tip* is the last commit of the branch, *patch* brings the changed files into the
    source if it was asked for.
    """

    tree: str
    tip: str | None
    changes: list[Change]
    nested: list[str]
    commits: int
    patch: bytes = b""

    @property
    def any(self) -> bool:
        """Whether there is anything that would be lost with the fork."""
        return bool(self.changes or self.nested or self.commits)


def work_of(
    copy: ForkCopy,
    given: Means,
    *,
    last_merge: MergedWork | None = None,
    wants_patch: bool = False,
    keeps: bool = False,
) -> Work:
    """Look at a fork; raise `CannotFork` if it cannot be looked at.

    With *keeps*, its files are kept as they are now: it can be the last merge of later looks.
    """
    base = copy.base if last_merge is None else last_merge.tree
    with as_cannot_fork(), contextlib.ExitStack() as stack:
        objects = stack.enter_context(_scratch(given, copy.repository, copy.store))
        ignore = copy.kind == "worktree"
        git, now = stack.enter_context(_state(fork_tree(copy), given, objects, ignore=ignore))
        if keeps and now != base:
            keep_objects(git, now, without=copy.base, store=copy.store)
        return Work(
            tree=now,
            tip=_tip(copy, given),
            changes=changes(git, base, now),
            nested=[one.path for one in copy.nested if _changed(copy, one.path, given)],
            commits=_commits(copy, given, last_merge),
            patch=patch(git, base, now) if wants_patch else b"",
        )


def apply_to_source(copy: ForkCopy, text: bytes, given: Means, *, check: bool) -> None:
    """Apply a patch to the files of the source, all of it or nothing."""
    with as_cannot_fork(), opened(source_tree(copy), given) as source:
        path = os.path.join(source.git.directory, "patch")
        with open(path, "wb") as file:
            file.write(text)
        try:
            apply(source.git, path, check=True)
        except CannotLook as error:
            raise DoesNotApply(str(error).removeprefix("git apply: ")) from None
        if not check:
            apply(source.git, path, check=False)


def compared(
    one: Side, other: Side, given: Means, *, ignore: bool
) -> tuple[list[Change], list[Change], list[Change]]:
    """Return what two trees have changed, each since its base, and what differs between them."""
    stores = [place for side in (one, other) for place in (side[0].common_directory, side[2])]
    with as_cannot_fork(), _scratch(given, *stores) as objects:
        with _state(other[0], given, objects, ignore=ignore) as (_, theirs):
            pass
        with _state(one[0], given, objects, ignore=ignore) as (git, ours):
            return (
                changes(git, one[1], ours),
                changes(git, other[1], theirs),
                changes(git, ours, theirs),
            )


def fork_tree(copy: ForkCopy) -> WorkTree:
    """Return the work tree of a fork; raise `CannotFork` if it is gone."""
    if not os.path.isdir(copy.directory):
        raise CannotFork(f"{copy.directory} is gone: somebody else has removed it")
    if copy.kind == "copy":
        return plain_tree(copy.directory, copy.store)
    if not os.path.isdir(copy.admin):
        raise CannotFork(f"{copy.admin} is gone: git no longer knows this work tree")
    return WorkTree(
        workspace=copy.directory,
        root=copy.directory,
        git_directory=copy.admin,
        common_directory=copy.repository,
    )


def source_tree(copy: ForkCopy) -> WorkTree:
    """Return the work tree that a fork was made of."""
    if copy.kind == "copy":
        return plain_tree(copy.root, copy.store)
    found = work_tree(copy.root)
    if not isinstance(found, WorkTree):
        raise CannotFork(f"{copy.root} is no longer a git work tree")
    return found


@contextlib.contextmanager
def _scratch(given: Means, *repositories: str) -> Iterator[str]:
    with temporary_directory(given.scratch) as place:
        yield objects_beside(place, *repositories)


@contextlib.contextmanager
def _state(
    tree: WorkTree, given: Means, objects: str, *, ignore: bool
) -> Iterator[tuple[Git, str]]:
    with opened(tree, given, objects=objects) as found:
        yield found.git, state_tree(found.git, ignore=ignore)


def _changed(copy: ForkCopy, path: str, given: Means) -> bool:
    was = next(one for one in copy.nested if one.path == path)
    directory = os.path.join(copy.directory, path)
    found = own_tree(directory)
    if not isinstance(found, WorkTree):
        return was.tree != "none"
    with _scratch(given, found.common_directory) as objects:
        now = nested_state(directory, given, objects=objects)
    with opened(found, given) as git:
        return git.head.commit != was.head or now != was.tree


def _tip(copy: ForkCopy, given: Means) -> str | None:
    return None if copy.branch is None else branch_tip(fork_tree(copy), given, copy.branch)


def _commits(copy: ForkCopy, given: Means, last_merge: MergedWork | None) -> int:
    if copy.branch is None:
        return 0
    before = (copy.commit, None if last_merge is None else last_merge.commit)
    since = [one for one in before if one is not None]
    return commits_only_here(fork_tree(copy), given, copy.branch, since=since)
