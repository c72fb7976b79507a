"""Carry the files of a work tree into a fork, and those of the repositories inside it.

A submodule gets a git directory of its own in the fork: what is committed there is not in the
source's.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from agent_pty.core.evidence.git_snapshot import Skipped
from agent_pty.core.fork import NestedState
from agent_pty.process.file_copy import FileCopier, RealDirectories
from agent_pty.process.git_access import Means, opened
from agent_pty.process.git_files import carried_files
from agent_pty.process.git_private_directory import write_file
from agent_pty.process.git_program import Git
from agent_pty.process.git_repository_copy import copy_git_directory
from agent_pty.process.git_tree import state_tree
from agent_pty.process.git_work_tree import WorkTree, work_tree

_MOST_NAMED = 10


@dataclass(slots=True, kw_only=True)
class Carried:
    """The repositories inside, and what was left out, with the reason."""

    nested: list[NestedState] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def carry_files(git: Git, target: str, admin: str, given: Means) -> Carried:
    """Copy the files of a work tree to *target*, whose git directory is *admin*."""
    carried = Carried()
    files = carried_files(git)
    if files.ignored:
        carried.left_out.append(_ignored(files.ignored))
    copier = FileCopier(git.tree.root, target)
    for path in files.paths:
        copier.copy(path)
    carried.left_out.extend(copier.left_out)
    for path in files.repositories:
        _carry_nested(copier, path, admin, given, carried)
    return carried


def _ignored(paths: list[str]) -> str:
    named = ", ".join(paths[:_MOST_NAMED]) + (", ..." if len(paths) > _MOST_NAMED else "")
    return f"ignored by git ({len(paths)}): {named}"


def _carry_nested(
    copier: FileCopier, path: str, admin: str, given: Means, carried: Carried
) -> None:
    source, target = os.path.join(copier.source, path), os.path.join(copier.target, path)
    if not RealDirectories(copier.source).has(path):  # it was removed
        return
    if not path.isprintable():  # such a name can be written into no answer
        carried.left_out.append(f"{path}: a repository whose name is no text")
        return
    copier.make_directory(path)
    found = own_tree(source)
    if found is None:  # a submodule that was not fetched: its directory is empty
        return
    if isinstance(found, str):
        carried.left_out.append(f"{path}: {found}")
        return
    beside = os.path.join(target, ".git")
    inside = os.path.isdir(os.path.join(source, ".git"))
    own = beside if inside else os.path.join(admin, "modules", path)
    copy_git_directory(found.git_directory, own, work_tree=None if inside else target)
    if not inside:
        write_file(beside, f"gitdir: {own}\n")
    with opened(found, given) as git:
        deeper = carry_files(git.git, target, own, given)
        head = git.head.commit
    carried.nested.append(NestedState(path=path, head=head, tree=nested_state(target, given)))
    for one in deeper.nested:
        inner = os.path.join(path, one.path)
        carried.nested.append(NestedState(path=inner, head=one.head, tree=one.tree))
    carried.left_out.extend(f"{path}/{one}" for one in deeper.left_out)


def own_tree(directory: str) -> WorkTree | str | None:
    """Return the repository whose work tree is exactly *directory*, or why it cannot be copied."""
    found = work_tree(directory)
    if isinstance(found, Skipped):
        return found.why
    if found is None or found.root != os.path.realpath(directory):
        return None
    if found.git_directory != found.common_directory:
        return "a linked work tree of another repository"
    return replace(found, workspace=found.root)


def nested_state(directory: str, given: Means, *, objects: str | None = None) -> str:
    """Return the tree of a repository inside a fork as it is now."""
    found = own_tree(directory)
    if not isinstance(found, WorkTree):
        return "none"
    with opened(found, given, objects=objects) as git:
        return state_tree(git.git)
