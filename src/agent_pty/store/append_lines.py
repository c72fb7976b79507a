"""Append whole lines to a file that one process writes: all of them, or nothing."""

from __future__ import annotations

import os

from agent_pty.store import journal_reader
from agent_pty.store.atomic import write_all

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


def append_lines(path: str, data: bytes, *, durable: bool) -> None:
    """Append *data*, private to this user; if that fails the file is as it was."""
    fd = os.open(path, _FLAGS, 0o600)
    try:
        # Half a line, of a crash or of a full disk, would spoil the next one.
        torn = journal_reader.torn_tail(path)
        whole = os.fstat(fd).st_size - torn
        if torn:
            os.ftruncate(fd, whole)
        try:
            write_all(fd, data)
        except OSError:
            os.ftruncate(fd, whole)
            raise
        if durable:
            os.fdatasync(fd)
    finally:
        os.close(fd)
