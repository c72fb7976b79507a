"""What a client of the `pty_*` tools has been shown, in a file for the next gateway.

Nothing that was typed is in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from agent_pty.store import atomic


class Shown(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was shown of one session; *notice_in* names the call that told of its exit."""

    name: str
    cursor: int = 0
    exit_shown: bool = False
    notice_in: str = ""


class ClientFile:
    """The file of the client with this *name*, which the client has chosen."""

    def __init__(self, directory: str, name: str) -> None:
        self._directory = directory
        digest = hashlib.sha256(name.encode()).hexdigest()[:32]
        self._path = f"{directory}/{digest}.client"
        self._saved = b""

    def load(self) -> dict[str, Shown]:
        """Return what an earlier gateway saved, by the instances of sessions."""
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, Shown])
        except (FileNotFoundError, msgspec.DecodeError):
            return {}

    def save(self, shown: Mapping[str, Shown]) -> None:
        """Replace the file, if there is something new."""
        data = msgspec.json.encode(shown)
        if data != self._saved:
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            atomic.replace(self._path, data, durable=False)
            self._saved = data

    def remove(self) -> None:
        """Forget a client that has left."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
