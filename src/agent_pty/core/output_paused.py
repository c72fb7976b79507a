"""What is said of a session whose output is paused."""

from __future__ import annotations


def paused_remark(name: str) -> str:
    """Return the fact and its remedy."""
    return f"output paused (Ctrl-S): agent-pty keys {name} ctrl-q resumes it"


def paused_suffix(name: str, *, paused: bool | None) -> str:
    """Return what is added to a message about a session; nothing if its output is not paused."""
    return f"; {paused_remark(name)}" if paused else ""
