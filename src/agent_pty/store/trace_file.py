"""The file of spans, `traces.jsonl`: one line for each request, within a bound.

Rule of this file: nothing here raises. No request may fail because its span cannot be written.
What could not be written is counted, and the next line says how many are missing before it.
"""

from __future__ import annotations

import errno
import os
import stat

from agent_pty.core.trace import Span, line
from agent_pty.store.journal_reader import torn_tail

_LARGEST = 64 * 1024 * 1024
_LOOK_NS = 1_000_000_000
# Without O_NONBLOCK a pipe in the place of the file would stop the daemon.
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class TraceFile:
    """Appends spans to *path*; when that is as large as it may be it becomes *older*."""

    def __init__(self, path: str, older: str, *, largest: int = _LARGEST) -> None:
        self._path = path
        self._older = older
        self._largest = largest
        self._fd = -1
        self._size = 0
        self._looked_ns = 0
        self._missing = 0
        self._untold = 0
        self._problem: str | None = None

    @property
    def missing(self) -> int:
        """How many spans are in no file."""
        return self._missing

    @property
    def problem(self) -> str | None:
        """Why the last span could not be written; None if it was."""
        return self._problem

    def add(self, span: Span) -> None:
        """Write a span, by one write: whoever reads the file never sees two lines mixed."""
        try:
            self._make_ready(span.ended_ns)
            self._write(line(span, missing=self._untold))
        except OSError as error:
            self._note_missing()
            self._problem = f"{self._path}: {error.strerror}"
        else:
            self._untold = 0
            self._problem = None

    def _note_missing(self) -> None:
        self._missing += 1
        self._untold += 1

    def _make_ready(self, now: int) -> None:
        """Have the file open, also if somebody has removed it, and with room in it."""
        if self._fd < 0 or not self._in_place(now):
            self._open()
        if self._size >= self._largest:
            os.rename(self._path, self._older)
            self._open()

    def _in_place(self, now: int) -> bool:
        """Whether the file is still there.

        A line that is written to a removed one is lost, so that is seen each time. One that was
        moved is seen once a second: looking at a path takes much longer than at a descriptor.
        """
        found = os.fstat(self._fd)
        self._size = found.st_size
        if abs(now - self._looked_ns) < _LOOK_NS:
            return found.st_nlink > 0
        self._looked_ns = now
        try:
            return os.path.samestat(found, os.stat(self._path, follow_symlinks=False))
        except FileNotFoundError:
            return False

    def _open(self) -> None:
        fd = os.open(self._path, _FLAGS, 0o600)
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "it is no file")
        self.close()
        self._fd = fd
        self._size = found.st_size
        if torn := torn_tail(self._path):  # the machine went down in the middle of a line
            self._note_missing()
            self._size -= torn
            os.ftruncate(fd, self._size)

    def _write(self, data: bytes) -> None:
        if os.write(self._fd, data) < len(data):
            os.ftruncate(self._fd, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
