"""The file of signed checkpoints of a home: one chain for all its sessions."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator

from agent_pty.core.evidence.chain import ChainCheck
from agent_pty.core.evidence.checkpoint import Checkpoint, digest, last_number, signed
from agent_pty.store import journal_reader
from agent_pty.store.atomic import write_all
from agent_pty.store.signing_key import SigningKey

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class Followed:
    """A journal as far as it was checked: only what is new is read for the next checkpoint."""

    def __init__(self, instance: str) -> None:
        self.instance = instance
        self._name = ""
        self._check = ChainCheck()
        self._offset = 0
        self._signed = 0
        self._ended = False

    @property
    def name(self) -> str:
        """What its session is called."""
        return self._name

    def call(self, name: str) -> None:
        """Its session has this name now."""
        self._name = name

    @property
    def ended(self) -> bool:
        """Whether the program of the session has ended."""
        return self._ended

    @property
    def unsigned(self) -> int:
        """How many events no checkpoint covers."""
        return self._check.count - self._signed

    def read_on(self, path: str) -> None:
        """Check what was written since the last time."""
        with open(path, "rb") as file:
            file.seek(self._offset)
            for line in journal_reader.whole_lines(file):
                event = self._check.feed(line)
                if event is None:
                    return
                self._ended |= event["kind"]["payload"].get("type") == "exited"
                self._offset += len(line) + 1

    @property
    def end(self) -> tuple[int, str] | None:
        """Count and head to be signed; None if there is nothing to sign."""
        if self._check.head is None or not self.unsigned:
            return None
        return self._check.count, self._check.head

    def note_signed(self, count: int) -> None:
        """A checkpoint covers that many events now."""
        self._signed = count


class Checkpoints:
    """Appends to the chain; one daemon does it."""

    def __init__(self, path: str, key: SigningKey) -> None:
        self._path = path
        self._key = key
        self._number, self._previous = _end(path)

    def add(self, journal: Followed, count: int, head: str, *, closed: bool) -> None:
        """Sign how long a journal is, and put it on the disk; if that fails nothing has changed."""
        line = signed(
            Checkpoint(
                number=self._number + 1,
                instance=journal.instance,
                name=journal.name,
                count=count,
                head=head,
                closed=closed,
                time=dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
                previous=self._previous,
                key=self._key.id,
            ),
            self._key.sign,
        )
        fd = os.open(self._path, _FLAGS, 0o600)
        try:
            # Half a line, of a crash or of a full disk, would spoil the next one.
            whole = os.fstat(fd).st_size - journal_reader.torn_tail(self._path)
            os.ftruncate(fd, whole)
            try:
                write_all(fd, line + b"\n")
            except OSError:
                os.ftruncate(fd, whole)
                raise
            os.fdatasync(fd)
        finally:
            os.close(fd)
        self._number += 1
        self._previous = digest(line)
        journal.note_signed(count)


def lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a file of checkpoints; none if there is no file."""
    if os.path.exists(path):
        yield from journal_reader.lines(path)


def _end(path: str) -> tuple[int, str]:
    last = b""
    for line in lines(path):
        last = line
    return last_number(last) if last else (0, "")
