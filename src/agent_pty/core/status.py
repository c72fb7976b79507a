"""The contract's status object. Pure."""

from __future__ import annotations

from typing import Any


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
