"""The state of a work tree as one tree object, and what differs between two of them.

Uncommitted and untracked files are in it, ignored ones are not. The index that is changed for this
is the copy in our git directory.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass

from agent_pty.process.bounded_run import Output
from agent_pty.process.file_copy import RealDirectories
from agent_pty.process.git_program import Git

_LIST = ("ls-files", "-z", "--full-name")
_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file that differs: A added, M modified, D deleted, T of another kind."""

    path: str
    status: str
    added: int | None
    removed: int | None


def state_tree(git: Git, *, ignore: bool = True) -> str:
    """Write the present state of the files as a tree; return its name."""
    excluded = ["--exclude-standard"] if ignore else []
    gone, changed, others = git.run(
        [*_LIST, "--deleted"], [*_LIST, "--modified"], [*_LIST, "--others", *excluded]
    )
    # A repository inside the tree is looked at by itself.
    present = [name for name in _names(changed, others) if not name.endswith(b"/")]
    # Below a link git sees no file, but it lists one.
    directories = RealDirectories(git.tree.root)
    hidden = [one for one in present if not directories.has(os.fsdecode(os.path.dirname(one)))]
    missing = dict.fromkeys([*_names(gone), *hidden])
    _update(git, ["--force-remove"], missing)
    _update(git, ["--add", "--remove"], [name for name in present if name not in missing])
    [answer] = git.run(["write-tree"])
    return answer.kept.decode().strip()


def _names(*lists: Output) -> list[bytes]:
    return [name for one in lists for name in one.kept.split(b"\0") if name]


def _update(git: Git, how: list[str], names: Iterable[bytes]) -> None:
    asked = os.path.join(git.directory, "asked")
    with open(asked, "wb") as file:
        file.writelines(name + b"\0" for name in names)
    if os.path.getsize(asked):
        git.run(["update-index", "-z", *how, "--stdin"], stdin=asked)


def changes(git: Git, old: str, new: str) -> list[Change]:
    """List the files that differ between two trees."""
    status, counts = git.run(
        ["diff-tree", "-r", "-z", *_DIFF, "--name-status", old, new],
        ["diff-tree", "-r", "-z", *_DIFF, "--numstat", old, new],
    )
    lines = {
        os.fsdecode(name): (added, removed)
        for added, removed, name in (
            line.split(b"\t", 2) for line in counts.kept.split(b"\0") if line
        )
    }
    fields = status.kept.split(b"\0")
    found = zip(fields[::2], fields[1::2], strict=False)
    return [
        Change(
            path=os.fsdecode(name),
            status=letter.decode(),
            added=_count(lines.get(os.fsdecode(name), (b"-", b"-"))[0]),
            removed=_count(lines.get(os.fsdecode(name), (b"-", b"-"))[1]),
        )
        for letter, name in found
    ]


def _count(text: bytes) -> int | None:
    return int(text) if text.isdigit() else None  # of a binary file there are none


def patch(git: Git, old: str, new: str) -> bytes:
    """Return the difference of two trees as a patch that can be applied, also of binary files."""
    [answer] = git.run(["diff-tree", "-r", "-p", "--binary", "--full-index", *_DIFF, old, new])
    return answer.kept


def keep_objects(git: Git, tree: str, *, without: str, store: str) -> None:
    """Copy the objects of a tree that another tree does not have into the repository *store*.

    So they stay there even if the repository that they come from no longer needs them.
    """
    asked = os.path.join(git.directory, "asked")
    with open(asked, "w", encoding="ascii") as file:
        file.write(f"{tree}\n^{without}\n")
    # Git renames what it has packed, and *store* may be on another file system.
    pack = os.path.join(git.directory, "pack")
    [answer] = git.run(["pack-objects", "--quiet", "--revs", pack], stdin=asked)
    name = f"pack-{answer.kept.decode().strip()}"
    target = os.path.join(store, "objects", "pack")
    make_private(target)
    for ending in (".pack", ".idx"):  # git looks for the second: it must not find it alone
        _copy_whole(os.path.join(git.directory, name + ending), os.path.join(target, name + ending))


def _copy_whole(source: str, target: str) -> None:
    """Copy a file so that another process never sees a part of it, also after a crash."""
    part = f"{target}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    with open(source, "rb") as old, open(os.open(part, flags, 0o600), "wb") as new:
        shutil.copyfileobj(old, new)
        new.flush()
        os.fsync(new.fileno())
    os.replace(part, target)


def apply(git: Git, patch_file: str, *, check: bool) -> None:
    """Apply a patch to the files, all of it or nothing; with *check* only see whether it can be."""
    only = ["--check"] if check else []
    git.run(["apply", *only, "--whitespace=nowarn", "--", patch_file])


def objects_beside(place: str, *repositories: str) -> str:
    """Make a directory for objects that are in none of some repositories."""
    objects = os.path.join(place, "objects")
    make_private(os.path.join(objects, "info"))
    path = os.path.join(objects, "info", "alternates")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "wb") as file:
        places = (os.path.join(one, "objects") for one in dict.fromkeys(repositories))
        file.writelines(os.fsencode(place) + b"\n" for place in places)
    return objects


def make_private(directory: str) -> None:
    """Make a directory and those above it that are missing, for their owner alone."""
    if not os.path.isdir(directory):
        make_private(os.path.dirname(directory))
        os.mkdir(directory, 0o700)
