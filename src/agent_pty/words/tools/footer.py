"""The last two lines of every result: state, exit, id and times; then the cursor. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from agent_pty.core.safe import one_line

_WAITING = {"idle": "input", "waiting": "input", "secret": "secret", "approval": "approval"}
_MOST_LINE = 120
_MINUTE = 60
_TENTHS_BELOW = 100


def footer(
    name: str,
    ended: Mapping[str, Any],
    *,
    cursor: int,
    seconds: float | None = None,
    quiet_ms: int | None = None,
    doing: str | None = None,
) -> str:
    """Return both lines; *ended* has state, exit_code and signal."""
    running = ended["state"] == "running"
    parts = [f"session: {'running' if running else 'exited'}"]
    parts += [] if running else [f"exit: {exit_words(ended)}"]
    parts += [f"id: {name}"]
    parts += [] if seconds is None else [duration(seconds)]
    parts += [f"quiet: {quiet_ms // 1000}s"] if running and quiet_ms is not None else []
    parts += [f"waiting: {_WAITING[doing]}"] if running and doing in _WAITING else []
    return " ".join(f"[{part}]" for part in parts) + f"\n[cursor: {cursor}]"


def exit_words(ended: Mapping[str, Any]) -> str:
    """Say how a program ended: a code, `signal 9`, or `unknown`, never a made-up 0.

    `host-crash` if its terminal is gone with our process that had it.
    """
    if ended["signal"] is not None:
        return f"signal {ended['signal']}"
    if ended["exit_code"] is not None:
        return str(ended["exit_code"])
    return "host-crash" if ended["state"] == "lost" else "unknown"


def duration(seconds: float) -> str:
    """Write a time as briefly as it is exact.

    >>> duration(12.41), duration(754)
    ('12.4s', '754s')
    """
    return f"{seconds:.1f}s" if seconds < _TENTHS_BELOW else f"{seconds:.0f}s"


def age(info: Mapping[str, Any], now: dt.datetime) -> float | None:
    """Return for how many seconds a session has run, or had; None if its end is not known."""
    if info["state"] != "running":
        if info["ended_at"] is None:
            return None
        now = dt.datetime.fromisoformat(info["ended_at"])
    began = dt.datetime.fromisoformat(info["started_at"])
    return max(0.0, (now - began).total_seconds())


def line_of(text: str) -> str:
    """Return the last line that is not empty, short and without control characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return one_line(lines[-1])[:_MOST_LINE] if lines else ""
