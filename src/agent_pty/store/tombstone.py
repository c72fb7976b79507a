"""What is left of sessions that the `pty_*` tools ended, and files with their long output.

A model may ask for a session after its end: then the end of its transcript and how it ended are
still known. Files are deleted after some days, and so are the oldest if there are very many.
"""

from __future__ import annotations

import contextlib
import os
import time

import msgspec
from msgspec import Struct

from agent_pty.core import name as names
from agent_pty.store import atomic

_KEPT_SECONDS = 7 * 24 * 3600
_MOST_FILES = 500
_SWEEP_EVERY = 3600


class Tombstone(Struct, frozen=True, kw_only=True):
    """How a session ended; *stopped* if it was by `pty_stop`. *cursor* is where its text ends."""

    id: str
    argv: list[str]
    exit_code: int | None
    signal: int | None
    cursor: int
    stopped: bool
    gap_end: int = 0  # text before this cursor is no longer kept
    text: str = ""
    lost: str = ""  # why, if a crash of ours ended it


class ToolOutput:
    """The directory of these files."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def save(self, stone: Tombstone) -> None:
        """Keep what is known of a session that has ended."""
        self._prepare()
        atomic.replace(self._path(stone.id), msgspec.json.encode(stone), durable=False)

    def find(self, name: str) -> Tombstone | None:
        """Return what is known of a session that has ended."""
        try:
            with open(self._path(names.checked(name)), "rb") as file:
                return msgspec.json.decode(file.read(), type=Tombstone)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def discard(self, name: str) -> None:
        """Forget a session: there is a new one with its name."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(name))

    def spool(self, name: str, start: int) -> str:
        """Return the path of a new empty file for output of session *name* from a cursor on."""
        self._prepare()
        path = f"{self._directory}/{name}-from-{start}-{time.time_ns() // 1_000_000}.txt"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(path, flags, 0o600))
        return path

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}.json"

    def _prepare(self) -> None:
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        swept = f"{self._directory}/.swept"
        with contextlib.suppress(FileNotFoundError):
            if time.time() - os.stat(swept).st_mtime < _SWEEP_EVERY:
                return
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(swept, flags, 0o600))
        self._sweep(time.time() - _KEPT_SECONDS)

    def _sweep(self, oldest: float) -> None:
        with os.scandir(self._directory) as entries:
            files = [(one.stat().st_mtime, one.path) for one in entries if one.name[0] != "."]
        files.sort(reverse=True)
        for number, (changed, path) in enumerate(files):
            if changed < oldest or number >= _MOST_FILES:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
