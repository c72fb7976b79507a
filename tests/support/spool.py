"""Spools as the keeper makes and holds them."""

from __future__ import annotations

import contextlib
import os

from agent_pty.keeper.spool import create_spool
from agent_pty.store.ring import Ring


def new_ring() -> Ring:
    """Return an empty ring in a spool of its own."""
    fd = create_spool()
    try:
        return Ring(fd, create=True)
    finally:
        os.close(fd)


def held_by(pid: int) -> dict[str, str]:
    """Return what a process has open, and a path by which each can be opened."""
    descriptors = f"/proc/{pid}/fd"
    found = {}
    for fd in os.listdir(descriptors):
        with contextlib.suppress(FileNotFoundError):  # just closed
            found[os.readlink(f"{descriptors}/{fd}")] = f"{descriptors}/{fd}"
    return found


def spool_of(keeper: int) -> str:
    """Return a path by which the spool of a keeper's only session can be opened."""
    return held_by(keeper)["/memfd:agent-pty-spool (deleted)"]
