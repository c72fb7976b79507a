"""The contract's status object. Pure."""

from __future__ import annotations

from typing import Any


def status_text(facts: dict[str, Any]) -> str:
    """Return what people are told of a daemon that runs."""
    text = f"agent-pty daemon running: {facts['session_count']} session(s)"
    paused = ", ".join(facts.get("output_paused") or [])  # a daemon of another build may not say it
    return f"{text}\noutput paused: {paused}" if paused else text


def status_object(socket: str | None, *, error: str | None) -> dict[str, Any]:
    """Return the object for a daemon that does not run; every other one begins with its keys."""
    return {
        "socket": socket,
        "running": False,
        "session_count": 0,
        "trace_path": None,
        "error": error,
        "pid": None,
    }
