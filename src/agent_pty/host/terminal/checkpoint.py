"""The checkpoint of a terminal: all that was understood so far, for the host after a crash."""

from __future__ import annotations

import msgspec

from agent_pty.core.mark import PlacedMark, ScannerState
from agent_pty.store import atomic
from agent_pty.store.ring import RingLost
from agent_pty.store.textlog import LogPositions

_VERSION = 2


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What was understood up to byte *raw*, so that the spool may forget what came before."""

    version: int = _VERSION
    raw: int
    emulator: bytes
    transcript: bytes
    positions: LogPositions
    scanner: ScannerState
    last_mark: PlacedMark | None
    event: int = 0  # the number of the session's last event


def save(directory: str, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint of a session."""
    atomic.replace(_path(directory), msgspec.msgpack.encode(checkpoint), durable=False)


def load(directory: str) -> Checkpoint | None:
    """Return the checkpoint of a session, None if it never had one."""
    try:
        with open(_path(directory), "rb") as file:
            saved = msgspec.msgpack.decode(file.read(), type=Checkpoint)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise RingLost(f"{directory}: damaged checkpoint: {error}") from error
    if saved.version != _VERSION:
        raise RingLost(f"{directory}: checkpoint version {saved.version}, not {_VERSION}")
    return saved


def _path(directory: str) -> str:
    return f"{directory}/checkpoint"
