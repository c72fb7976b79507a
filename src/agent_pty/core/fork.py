"""What a fork is, and its names: directory, branch, and the same place in both trees. Pure."""

from __future__ import annotations

import posixpath
import re
from typing import Literal

from msgspec import Struct

MOST_FORKS = 64
_BRANCHES = "agent-pty"
_FORKS = ".agent-pty-forks"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


class NestedState(Struct, frozen=True, kw_only=True):
    """A repository inside a fork: where it is, what was checked out and how its files were."""

    path: str
    head: str | None
    tree: str


class ForkCopy(Struct, frozen=True, kw_only=True):
    """The copy that a fork works in: a linked work tree of git, or a copied directory.

    *root* was copied to *directory*. *base* is the tree of what was forked, *commit* what was
    checked out then. The directories *repository* and *store* have the objects of both: what was
    not committed is in *store*, which is ours, and so is what was merged. *admin* is the git
    directory of the copy. *left_out* names what is not in it, with the reason.
    """

    kind: Literal["worktree", "copy"]
    root: str
    directory: str
    branch: str | None
    commit: str | None
    base: str
    repository: str
    store: str
    admin: str
    nested: list[NestedState]
    left_out: list[str]


class MergedWork(Struct, frozen=True, kw_only=True):
    """What a merge brought into the source: the tree of all files, and the commit of the branch."""

    tree: str
    commit: str | None


def safe_id(name: str) -> str:
    """Return a session's name as files and branches have it, as the seed writes it.

    >>> safe_id("try.2")
    'try_2'
    """
    return _UNSAFE.sub("_", name)


def fork_directory(root: str, name: str) -> str:
    """Return where the copy of a directory is: beside it, never inside it.

    >>> fork_directory("/src/app", "try.2")
    '/src/app.agent-pty-forks/try_2'
    """
    return f"{root}{_FORKS}/{safe_id(name)}"


def branch_name(name: str) -> str:
    """Return the branch of a fork.

    >>> branch_name("b")
    'agent-pty/b'
    """
    return f"{_BRANCHES}/{safe_id(name)}"


def fork_names(name: str, count: int) -> list[str]:
    """Return the names of several forks that are made at once.

    >>> fork_names("try", 1), fork_names("try", 3)
    (['try'], ['try-1', 'try-2', 'try-3'])
    """
    return [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]


def moved(path: str, *, old: str, new: str) -> str | None:
    """Return the place in the directory *new* that *path* is in *old*; None: it is not in there.

    >>> moved("/src/app/lib", old="/src/app", new="/forks/b")
    '/forks/b/lib'
    >>> moved("/src/apple", old="/src/app", new="/forks/b")
    """
    if path == old:
        return new
    below = path.removeprefix(old.rstrip("/") + "/")
    return None if below == path else posixpath.join(new, below)
