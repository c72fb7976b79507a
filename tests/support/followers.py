"""What runs beside a test of `k`: a cell that does not end, a `km`, a `k watch`."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

from support.agent import eventually
from support.k import K

# It says "up" once it is what has to be stopped: a word of the shell would come too early.
SLEEPER = "bash -c 'echo up; exec sleep 1000'"
_PING = "are you there?"
_PATIENCE = 15


def fired(k: K, session: str, code: str) -> str:
    """Start code; return its cell."""
    cell: str = k.json("fire", session, code)["cell_id"]
    assert len(cell) == 12
    return cell


def await_up(k: K, session: str) -> None:
    """Return once the program of the running cell says that it is up."""
    k.agent.ask("wait", id=session, until="regex:(?m)^up$", timeout_ms=30_000)


def await_end(k: K, session: str, cell: str) -> None:
    """Return once a cell has ended."""
    done = k.run(session, cell, "-1", program="km")
    assert done.returncode == 0, done.stderr


class Follower:
    """A `km` or `k watch` beside the test: its lines, without our pings."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        assert process.stdout is not None
        # Not through the file object: what it has read ahead, no select knows of.
        self._file = process.stdout.fileno()
        self._data = b""

    def heard(self, seconds: float) -> bool:
        """Whether something was said within so many seconds, or the end came."""
        return bool(select.select([self._file], [], [], seconds)[0])

    def line(self) -> str:
        """Return the next line; empty at the end."""
        while True:
            line = self._line()
            if _PING not in line:
                self.lines.append(line)
                return line

    def _line(self) -> str:
        while b"\n" not in self._data:
            assert self.heard(_PATIENCE), f"nothing came behind {self.lines}"
            data = os.read(self._file, 1 << 16)
            if not data:
                return ""
            self._data += data
        line, _, self._data = self._data.partition(b"\n")
        return line.decode() + "\n"

    def until(self, wanted: Callable[[str], bool]) -> list[str]:
        """Return the lines up to the first that is *wanted*."""
        seen = [self.line()]
        while not wanted(seen[-1]):
            assert seen[-1], f"it ended behind {seen}"
            seen.append(self.line())
        return [line.rstrip("\n") for line in seen]

    def rest(self) -> list[str]:
        """Return the lines up to the end, which has to come by itself."""
        seen = []
        while line := self.line():
            seen.append(line.rstrip("\n"))
        self.process.wait(_PATIENCE)
        return seen

    def event(self) -> dict[str, Any]:
        """Return the next line of a `km` as what it is."""
        told: dict[str, Any] = json.loads(self.line())
        return told

    def statuses(self) -> list[str]:
        """Return what a `km` tells up to its end."""
        return [json.loads(line)["status"] for line in self.rest()]

    def await_ear(self, k: K, session: str) -> None:
        """Return once it follows *session*: it hears notes to it."""
        eventually(lambda: bool(k.run("notify", session, _PING).stdout) and self.heard(0.05))


@contextlib.contextmanager
def follower(k: K, *words: str, program: str) -> Iterator[Follower]:
    """Start a command that follows something; it ends with the test."""
    with k.start(*words, program=program) as process:
        try:
            yield Follower(process)
        finally:
            process.kill()


@contextlib.contextmanager
def monitor(k: K, *words: str, of: str | None = None) -> Iterator[Follower]:
    """Start `km` and return once it follows session *of*: the first word if nobody says."""
    with follower(k, *words, program="km") as events:
        events.await_ear(k, of or words[0])
        yield events


@contextlib.contextmanager
def watching(k: K, session: str) -> Iterator[Follower]:
    """Start `k watch` and return once it follows; its first two lines have been read."""
    with follower(k, "watch", session, program="k") as watcher:
        watcher.line()
        watcher.line()
        watcher.await_ear(k, session)
        yield watcher
