"""Copy single files into a new directory: blocks are shared with the original where possible.

What is copied was written by others. A path never leads out of the two directories: parents that
are links are not followed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import sys

_FICLONE = 0x40049409
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# The file system cannot share blocks, or not these.
_CANNOT_SHARE = frozenset(
    {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.EXDEV, errno.ENOSYS, errno.EPERM}
)


class RealDirectories:
    """The directories below *root* to which no link leads."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: set[str] = {""}

    def has(self, directory: str) -> bool:
        """Whether there is such a directory."""
        if directory in self._known:
            return True
        parent, name = os.path.split(directory)
        if name in ("", ".", "..") or not self.has(parent):
            return False
        try:
            mode = os.lstat(os.path.join(self._root, directory)).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return False
        if stat.S_ISDIR(mode):
            self._known.add(directory)
        return stat.S_ISDIR(mode)


class FileCopier:
    """Copies files from the directory *source* to the directory *target*, by relative paths.

    *left_out* names what was not copied, with the reason.
    """

    def __init__(self, source: str, target: str) -> None:
        self.source = source
        self.target = target
        self.left_out: list[str] = []
        self._directories = RealDirectories(source)
        self._made: set[str] = {""}
        self._shares = sys.platform == "linux"

    def copy(self, path: str) -> bool:
        """Copy a file or a link; False if there is none."""
        parent, name = os.path.split(path)
        if os.path.isabs(path) or name in ("", ".", "..") or not self._directories.has(parent):
            return False
        try:
            found = os.lstat(os.path.join(self.source, path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        if stat.S_ISLNK(found.st_mode):
            self._copy_link(path, found)
        elif stat.S_ISREG(found.st_mode):
            return self._copy_file(path)
        elif not stat.S_ISDIR(found.st_mode):
            self.left_out.append(f"{path}: neither a file nor a link nor a directory")
        return True

    def make_directory(self, path: str) -> None:
        """Make a directory that the source has, with those above it."""
        if path in self._made:
            return
        self.make_directory(os.path.dirname(path))
        whole = os.path.join(self.target, path)
        with contextlib.suppress(FileExistsError):
            os.mkdir(whole, 0o700)
            with contextlib.suppress(FileNotFoundError):
                os.chmod(whole, stat.S_IMODE(os.stat(os.path.join(self.source, path)).st_mode))
        self._made.add(path)

    def _copy_link(self, path: str, found: os.stat_result) -> None:
        self.make_directory(os.path.dirname(path))
        target = os.path.join(self.target, path)
        os.symlink(os.readlink(os.path.join(self.source, path)), target)
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns), follow_symlinks=False)

    def _copy_file(self, path: str) -> bool:
        try:
            old = os.open(os.path.join(self.source, path), _READ)
        except FileNotFoundError:  # it was removed a moment ago
            return False
        with open(old, "rb") as original:
            self.make_directory(os.path.dirname(path))
            found = os.fstat(old)
            new = os.open(os.path.join(self.target, path), _WRITE, 0o600)
            with open(new, "wb") as copy:
                if not self._shared(old, new):
                    shutil.copyfileobj(original, copy, 1 << 20)
                    copy.flush()
                os.fchmod(new, stat.S_IMODE(found.st_mode))
                os.utime(new, ns=(found.st_atime_ns, found.st_mtime_ns))
        return True

    def _shared(self, old: int, new: int) -> bool:
        if not self._shares:
            return False
        try:
            fcntl.ioctl(new, _FICLONE, old)
        except OSError as error:
            if error.errno not in _CANNOT_SHARE:
                raise
            self._shares = False
        return self._shares
