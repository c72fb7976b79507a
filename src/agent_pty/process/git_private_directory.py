"""A git directory of our own, through which git sees another repository's index and objects.

The repository's configuration, hooks and references are not in it, so git can neither read nor run
them. The index is a copy: git may refresh it, and never waits for, takes or leaves a lock in the
repository.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import tempfile
import time
from collections.abc import Iterator

from agent_pty.process.bounded_run import Expired
from agent_pty.process.git_work_tree import CannotLook, Head, WorkTree, regular_file

_CHUNK = 1 << 20
_MOST_INDEX = 1 << 28
_SHARED = "sharedindex."
_LINK, _LENGTH, _HASHES = b"link", 4, (20, 32)  # the extension that names it


@contextlib.contextmanager
def temporary_directory(scratch: str) -> Iterator[str]:
    """Make a directory below *scratch* that only we can read, and remove it with all that is in it.

    On a busy disk this can take longer than git itself; on a file system in memory it is nothing.
    """
    # Not tempfile.TemporaryDirectory: on an error it changes modes, also of what a link names.
    place = tempfile.mkdtemp(prefix="git-", dir=scratch)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def fill(place: str, tree: WorkTree, head: Head, *, config: str, until: float) -> None:
    """Make an empty directory a git directory; raise `Expired` if that takes too long."""
    os.mkdir(os.path.join(place, "refs"))
    os.mkdir(os.path.join(place, "info"))
    write_file(os.path.join(place, "HEAD"), f"{head.commit or 'ref: refs/heads/unborn'}\n")
    write_file(os.path.join(place, "config"), config)
    for directory, name in (
        (tree.common_directory, "info/exclude"),
        (tree.common_directory, "info/attributes"),
        (tree.git_directory, "info/sparse-checkout"),
    ):
        if os.path.exists(os.path.join(directory, name)):
            os.symlink(os.path.join(directory, name), os.path.join(place, name))
    copy_index(tree.git_directory, place, until)


def write_file(path: str, text: str) -> None:
    """Write a new file; names in *text* may be no UTF-8."""
    with open(path, "wb") as file:
        file.write(os.fsencode(text))


def copy_index(git_directory: str, place: str, until: float) -> None:
    """Copy an index, with its other half if it is split."""
    if not _copy(git_directory, place, "index", until):
        return
    names = {name for name in os.listdir(git_directory) if name.startswith(_SHARED)}
    shared = _other_half(os.path.join(place, "index"), names, until) if names else None
    if shared is not None:
        _copy(git_directory, place, shared, until)


def _other_half(index: str, names: set[str], until: float) -> str | None:
    """Of files that may be the larger half of a split index, name the one that it refers to.

    It does so by a hash, somewhere after the entries.
    """
    if not os.path.getsize(index):
        return None
    with open(index, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(_LINK)
        while at >= 0:
            start = at + len(_LINK) + _LENGTH
            found = {_SHARED + data[start : start + size].hex() for size in _HASHES} & names
            if found:
                return found.pop()
            if time.monotonic() > until:
                raise Expired
            at = data.find(_LINK, start)
    return None


def _copy(source: str, target: str, name: str, until: float) -> bool:
    """Copy a file with its time of change; False if there is none.

    By that time git sees which files were changed so shortly after the index was written that
    their own times do not show it.
    """
    handle = regular_file(os.path.join(source, name))
    if handle is None:
        return False
    with open(handle, "rb") as old, open(os.path.join(target, name), "wb") as new:
        found = os.fstat(handle)
        if found.st_size > _MOST_INDEX:
            raise CannotLook(f"{name} is larger than {_MOST_INDEX} bytes")
        while chunk := old.read(_CHUNK):
            new.write(chunk)
            if time.monotonic() > until:
                raise Expired
        new.flush()
        os.utime(new.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))
    return True
