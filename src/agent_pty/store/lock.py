"""Kernel locks: they end with the process that holds them, which a pid file does not."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from collections.abc import Iterator


class Lock:
    """An exclusive lock on a file, held until closed or until the process ends."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1

    def acquire(self, *, patience: float = 0.0) -> bool:
        """Take the lock; False if another process still holds it after *patience* seconds.

        Waiting uses the interval timer, so *patience* is for the main thread only.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(self.path, flags, 0o600)
        try:
            with _alarm(patience):
                fcntl.flock(fd, fcntl.LOCK_EX | (0 if patience else fcntl.LOCK_NB))
        except (BlockingIOError, TimeoutError):
            os.close(fd)
            return False
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        return True

    def release(self) -> None:
        """Release the lock; the file stays, because removing it would allow two locks at once."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt a blocking call by TimeoutError after *seconds*; 0 means never."""
    if not seconds:
        yield
        return

    def expire(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
