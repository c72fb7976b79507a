"""Kernel locks: they die with their holder, which a pid file does not."""

from __future__ import annotations

import fcntl
import os


class Lock:
    """An exclusive lock on a file, held until closed or until the process ends."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1

    def acquire(self, *, wait: bool) -> bool:
        """Take the lock; without *wait*, False says that somebody else has it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(self.path, flags, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(fd)
            return False
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        return True

    def release(self) -> None:
        """Give the lock back; the file stays, removing it would split the lock in two."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def held(path: str) -> bool:
    """Whether some process holds the lock at *path*; never creates the file."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(fd)
