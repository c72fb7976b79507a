"""Copy a whole git directory: that of a submodule, which a fork must not share with its source."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat

# Linked work trees of the original are not those of the copy.
_LEFT_OUT = frozenset({"worktrees"})
_ALTERNATES = os.path.join("objects", "info", "alternates")


def copy_git_directory(source: str, target: str, *, work_tree: str | None) -> None:
    """Copy a git directory; *work_tree* is where its files are, if not beside it."""
    for place, directories, names in os.walk(source):
        below = os.path.relpath(place, source)
        if below == ".":
            directories[:] = [name for name in directories if name not in _LEFT_OUT]
        os.makedirs(os.path.join(target, below), mode=0o700, exist_ok=True)
        immutable = below.partition(os.sep)[0] == "objects"
        for name in names:
            _copy(os.path.join(place, name), os.path.join(target, below, name), link=immutable)
    _make_alternates_absolute(source, target)
    if work_tree is not None:
        with open(os.path.join(target, "config"), "ab") as config:
            # The last of several settings counts.
            quoted = work_tree.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            config.write(os.fsencode(f'\n[core]\n\tworktree = "{quoted}"\n'))


def _copy(source: str, target: str, *, link: bool) -> None:
    with contextlib.suppress(FileNotFoundError):  # git removes files that it has packed
        mode = os.lstat(source).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(source), target)
        elif stat.S_ISREG(mode) and not source.endswith(".lock"):
            if link and _linked(source, target):
                return
            shutil.copy2(source, target)


def _linked(source: str, target: str) -> bool:
    """Give a file a second name: git never changes an object, so that both may share it."""
    if source.endswith(_ALTERNATES):
        return False
    try:
        os.link(source, target, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:  # another file system, or one without links
        return False
    return True


def _make_alternates_absolute(source: str, target: str) -> None:
    path = os.path.join(target, _ALTERNATES)
    if not os.path.exists(path):
        return
    with open(path, "rb") as file:
        lines = file.read().splitlines()
    objects = os.fsencode(os.path.join(source, "objects"))
    whole = [os.path.normpath(os.path.join(objects, line)) for line in lines if line]
    os.unlink(path)
    with open(path, "wb") as file:
        file.write(b"".join(line + b"\n" for line in whole))
