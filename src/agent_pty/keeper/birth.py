"""When a process started. A pid may be used again; together with this it names one process."""

from __future__ import annotations

import pathlib

_START_TIME = 19  # fields after the command name in /proc/<pid>/stat


def birth(pid: int) -> float | None:
    """Return the start time of *pid* in clock ticks, None if it is gone or cannot be known."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The command name is in parentheses and may itself contain blanks and parentheses.
    return float(stat[stat.rindex(b")") + 2 :].split()[_START_TIME])
