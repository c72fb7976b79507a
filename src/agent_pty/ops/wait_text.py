"""What `wait` prints for people: the condition that came true and its line, then the screen."""

from __future__ import annotations

from typing import Any

from agent_pty.core.safe import one_line

_LAST_LINES = 10


def matched_line(seen: dict[str, Any]) -> str:
    """Return one line: which condition came true, and the line that made it so.

    >>> matched_line({"matched": "regex:up", "failed": False, "line": "server is up"})
    'matched regex:up: server is up'
    >>> matched_line({"matched": "idle:2s", "failed": False, "line": None})
    'matched idle:2s'
    """
    how = "failed on" if seen["failed"] else "matched"
    line = seen.get("line")  # a host of an earlier build does not report it
    shown = f"{how} {seen['matched']}" + (f": {line}" if line else "")
    return one_line(shown)


def last_lines(seen: dict[str, Any] | None) -> str:
    r"""Return the last lines of the screen that are not empty, each with its line end.

    >>> last_lines({"screen": {"text": "a\n\nb\n\n"}})
    'a\nb\n'
    """
    lines = seen["screen"]["text"].split("\n") if seen else []
    shown = [line.rstrip() for line in lines if line.strip()]
    return "".join(f"{line}\n" for line in shown[-_LAST_LINES:])
