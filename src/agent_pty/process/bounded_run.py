"""Programs that are run to their end together, within one deadline, and read up to a bound.

Each leads a process group of its own. One that takes too long or writes too much is killed with all
of its group.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

_CHUNK = 1 << 16
_MOST_ERROR = 1 << 12
# A killed process may be held by a file system that does not answer.
_GRACE = 0.5


class Expired(Exception):
    """The deadline has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program with its arguments; *stdin* is the file that it reads."""

    argv: list[str]
    stdin: str = os.devnull


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where programs run: their directory, all that is in their environment, their umask."""

    cwd: str
    environment: Mapping[str, str]
    umask: int = -1  # ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much of an output is kept, how much is read, and until when (monotonic time)."""

    kept: int
    read: int
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a program wrote: its beginning, and how much was read.

    *sha256* is that of all of it. If there was more than may be read, the program was killed, and
    *sha256* and *status* are None.
    """

    kept: bytes
    read: int
    sha256: str | None
    error: bytes
    status: int | None


class _Running:
    def __init__(self, child: subprocess.Popen[bytes], bounds: Bounds) -> None:
        self.child = child
        self._bounds = bounds
        self._kept = bytearray()
        self._error = bytearray()
        self._digest = hashlib.sha256()
        self._read = 0

    @property
    def _cut(self) -> bool:
        return self._read > self._bounds.read

    def take_output(self, data: bytes) -> None:
        """Keep the beginning; kill the program when it has written too much."""
        self._kept += data[: max(0, self._bounds.kept - len(self._kept))]
        self._digest.update(data)
        self._read += len(data)
        if self._cut:
            _kill(self.child)

    def take_error(self, data: bytes) -> None:
        """Keep the beginning."""
        self._error += data[: max(0, _MOST_ERROR - len(self._error))]

    def finished(self) -> Output:
        """Wait for the end of a program that has closed its output."""
        try:
            status = self.child.wait(max(0.0, self._bounds.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Expired from None
        return Output(
            kept=bytes(self._kept),
            read=self._read,
            sha256=None if self._cut else self._digest.hexdigest(),
            error=bytes(self._error),
            status=None if self._cut else status,
        )


def run_all(
    commands: Sequence[Command], surroundings: Surroundings, bounds: Bounds
) -> list[Output]:
    """Run programs side by side; raise `Expired` if they do not all end in time."""
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(_started(one, surroundings)) for one in commands]
        running = [_Running(child, bounds) for child in children]
        _read_all(running, bounds.until)
        return [one.finished() for one in running]


def _read_all(running: Sequence[_Running], until: float) -> None:
    with selectors.DefaultSelector() as selector:
        for one in running:
            for pipe, take in zip(
                _pipes(one.child), (one.take_output, one.take_error), strict=True
            ):
                selector.register(pipe, selectors.EVENT_READ, take)
        while selector.get_map():
            ready = selector.select(max(0.0, until - time.monotonic()))
            if not ready or time.monotonic() > until:
                raise Expired
            for key, _ in ready:
                data = os.read(key.fd, _CHUNK)
                if data:
                    key.data(data)
                else:
                    selector.unregister(key.fileobj)


@contextlib.contextmanager
def _started(command: Command, surroundings: Surroundings) -> Iterator[subprocess.Popen[bytes]]:
    with open(command.stdin, "rb") as stdin:
        child = subprocess.Popen(
            command.argv,
            cwd=surroundings.cwd,
            env=surroundings.environment,
            umask=surroundings.umask,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    try:
        yield child
    finally:
        _end(child)


def _pipes(child: subprocess.Popen[bytes]) -> list[IO[bytes]]:
    return [pipe for pipe in (child.stdout, child.stderr) if pipe is not None]


def _end(child: subprocess.Popen[bytes]) -> None:
    for pipe in _pipes(child):
        pipe.close()
    _kill(child)
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        threading.Thread(target=child.wait, name="git-end", daemon=True).start()


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a program with its group."""
    # Once it was waited for, its number may be that of another group.
    if child.returncode is None:
        # A group of which only a dead leader is left cannot be signalled everywhere.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
