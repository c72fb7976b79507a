"""What forks there are: a file for each, and how the source was when it was forked.

A file is written before the copy is begun. So a daemon that starts after a crash knows of a copy
that was not finished, and removes it.
"""

from __future__ import annotations

import os
from typing import Literal

import msgspec
from msgspec import Struct

from agent_pty import log
from agent_pty.core.fork import ForkCopy, MergedWork
from agent_pty.core.name import checked
from agent_pty.store import atomic
from agent_pty.store.aside import set_aside

VERSION = 1
_ENDING = ".json"
_KEPT = ".git"


class ForkRecord(Struct, frozen=True, kw_only=True):
    """One fork; *copy* is null if it shares the directory of its source.

    *last_merge* is what was last brought into the source. While it is `making`, the copy may be
    incomplete, and says only where it will be.
    """

    version: int
    name: str
    source: str
    source_instance: str
    instance: str | None
    workspace: str
    made_at: str
    state: Literal["making", "made"]
    copy: ForkCopy | None
    last_merge: MergedWork | None = None


class _Version(Struct, frozen=True):
    version: int


class Forks:
    """The directory of these files; *aside* is for those of another version."""

    def __init__(self, directory: str, aside: str) -> None:
        self._directory = directory
        self._aside = aside

    def kept(self, name: str) -> str:
        """Return where it is kept how the source was."""
        return self._path(name, _KEPT)

    def write(self, record: ForkRecord) -> None:
        """Write the file of a fork."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        atomic.replace(self._path(record.name, _ENDING), msgspec.json.encode(record))

    def find(self, name: str) -> ForkRecord | None:
        """Return a fork by its name."""
        return self._read(self._path(name, _ENDING))

    def all(self) -> list[ForkRecord]:
        """Return every fork, by name."""
        if not os.path.isdir(self._directory):
            return []
        names = sorted(name for name in os.listdir(self._directory) if name.endswith(_ENDING))
        found = (self._read(os.path.join(self._directory, name)) for name in names)
        return [one for one in found if one is not None]

    def remove(self, name: str) -> None:
        """Forget a fork."""
        os.unlink(self._path(name, _ENDING))

    def _path(self, name: str, ending: str) -> str:
        # A name comes from a caller, and must lead nowhere else.
        return os.path.join(self._directory, f"{checked(name)}{ending}")

    def _read(self, path: str) -> ForkRecord | None:
        try:
            with open(path, "rb") as file:
                data = file.read()
            if msgspec.json.decode(data, type=_Version).version == VERSION:
                return msgspec.json.decode(data, type=ForkRecord)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            log.line(f"daemon: {path} is damaged: {error}")
        log.line(f"daemon: {path} cannot be read, it is now {set_aside(path, self._aside)}")
        return None
