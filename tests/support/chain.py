"""A chain of processes: each forks the next one and exits, so that none lives for a millisecond."""

from __future__ import annotations

import contextlib
import fcntl
import sys
from pathlib import Path
from typing import Literal

from support.agent import eventually

# Every link of the chain has the same open file, and with it the lock.
_SCRIPT = """
import fcntl, os, resource, signal, sys
if sys.argv[2] == "unknown":
    resource.setrlimit(10, (-1, -1))
for number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
lock = open(sys.argv[1])
fcntl.flock(lock, fcntl.LOCK_EX)
for stream in (0, 1, 2):
    os.dup2(os.open("/dev/null", os.O_RDWR), stream)
while os.path.exists(sys.argv[1]):
    if os.fork():
        os._exit(0)
    if sys.argv[2] != "together":
        os.setsid()
"""


class Chain:
    """One chain. Its processes share a kernel session or, *apart*, each leads its own.

    If they are *unknown*, they also have no environment and no limit of their session.
    """

    def __init__(
        self, directory: Path, manner: Literal["together", "apart", "unknown"] = "apart"
    ) -> None:
        self._lock = directory / "chain.lock"
        self._script = directory / "chain.py"
        self._manner = manner

    @property
    def command(self) -> str:
        """The command that starts it, as a shell reads it."""
        self._lock.touch()
        self._script.write_text(_SCRIPT)
        start = "env -i " if self._manner == "unknown" else ""
        return f"{start}{sys.executable} -I {self._script} {self._lock} {self._manner}"

    def alive(self) -> bool:
        """Whether one of its processes has the lock."""
        with contextlib.suppress(BlockingIOError), self._lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        return True

    def wait_until_alive(self) -> None:
        """Return when it runs."""
        eventually(self.alive)

    def end(self) -> None:
        """Remove the file without which no process of it goes on."""
        self._lock.unlink(missing_ok=True)
