"""Copy a directory that is in no git repository, whole: with links as links."""

from __future__ import annotations

import os

from agent_pty.core.fork import NestedState
from agent_pty.process.file_copy import FileCopier
from agent_pty.process.git_access import Means, opened
from agent_pty.process.nested_repository import Carried, nested_state, own_tree


def copy_directory(root: str, target: str, given: Means) -> Carried:
    """Copy everything below *root*; repositories in it are copied with their git directories."""
    copier, carried = FileCopier(root, target), Carried()
    repositories: list[str] = []
    for place, directories, names in os.walk(root):
        below = os.path.relpath(place, root)
        prefix = "" if below == "." else below
        for name in list(directories):
            path = os.path.join(prefix, name)
            if os.path.islink(os.path.join(place, name)):
                copier.copy(path)
                directories.remove(name)
            elif (reason := _not_ours(root, os.path.join(place, name))) is not None:
                carried.left_out.append(f"{path}: {reason}")
                directories.remove(name)
            else:
                copier.make_directory(path)
                if name == ".git":
                    repositories.append(prefix)
        for name in names:
            copier.copy(os.path.join(prefix, name))
    carried.left_out.extend(copier.left_out)
    carried.nested.extend(_nested(target, path, given) for path in repositories)
    return carried


def _not_ours(root: str, directory: str) -> str | None:
    """Say why a directory is left out: its repository would be shared with the source."""
    link = os.path.join(directory, ".git")
    if not os.path.isfile(link):
        return None
    with open(link, "rb") as file:
        named = os.fsdecode(file.read(1 << 12).removeprefix(b"gitdir: ").rstrip(b"\r\n"))
    whole = os.path.normpath(os.path.join(directory, named))
    inside = whole.startswith(root + "/")
    return None if inside and not os.path.isabs(named) else "its git directory is elsewhere"


def _nested(target: str, path: str, given: Means) -> NestedState:
    directory = os.path.join(target, path)
    found = own_tree(directory)
    head = None
    if found is not None and not isinstance(found, str):
        with opened(found, given) as git:
            head = git.head.commit
    return NestedState(path=path, head=head, tree=nested_state(directory, given))
