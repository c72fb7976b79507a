"""The error of a request that needs a program which has ended."""

from __future__ import annotations

from agent_pty.errors import SessionEnded
from agent_pty.ops.model import Ending


def ended_error(name: str, ending: Ending, diagnosis: str | None, consequence: str) -> SessionEnded:
    """Say how the program ended, as far as it is known, and what follows from that."""
    if diagnosis is not None:
        return SessionEnded(f"session {name} is lost: {diagnosis}")
    how = "how is not known"
    if ending.status is not None:
        how = f"signal {ending.signal}" if ending.signal else f"exit code {ending.code}"
    return SessionEnded(
        f"session {name} has ended ({how}): {consequence}",
        id=name,
        exit_code=ending.code,
        signal=ending.signal,
    )
