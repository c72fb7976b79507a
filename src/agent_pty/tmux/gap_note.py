"""A note for the host that goes on with a pane: what was missed, and what the screen shows."""

from __future__ import annotations

import contextlib
import os

import msgspec
from msgspec import Struct

_FILE = "output-gap.json"


class Missed(Struct, frozen=True, kw_only=True):
    """Why output was missed, and what draws the screen after it."""

    reason: str
    drawn: bytes


def leave(directory: str, missed: Missed) -> None:
    """Leave a note in the directory of a session's files."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    with open(f"{directory}/{_FILE}", "wb") as file:
        file.write(msgspec.json.encode(missed))


def take(directory: str) -> Missed | None:
    """Return the note and remove it; None if there is none."""
    path = f"{directory}/{_FILE}"
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=Missed)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
