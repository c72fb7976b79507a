"""What a wait waits for, as the seed's journal writes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agent_pty.core.duration import seconds
from agent_pty.core.evidence.event import Duration


def duration(value: float) -> Duration:
    """Return a length of time in whole seconds and the rest.

    >>> duration(2.5)
    Duration(secs=2, nanos=500000000)
    """
    nanos = round(value * 1e9)
    return Duration(secs=nanos // 10**9, nanos=nanos % 10**9)


def predicate(conditions: Sequence[str]) -> dict[str, Any]:
    """Return one condition as it is, several as any of them.

    >>> predicate(["prompt", "exit"])
    {'type': 'any', 'of': [{'type': 'prompt'}, {'type': 'exit'}]}
    """
    each = [_one(condition) for condition in conditions]
    return each[0] if len(each) == 1 else {"type": "any", "of": each}


def _one(condition: str) -> dict[str, Any]:
    kind, colon, rest = condition.partition(":")
    if condition in ("prompt", "exit"):
        return {"type": condition}
    if kind == "idle" and colon:
        return {"type": "idle", "quiet_for": duration(seconds(rest, what="idle time"))}
    if kind in ("regex", "screen") and colon:
        return {"type": kind, "pattern": rest}
    if kind == "cell" and colon:
        return {"type": "cell", "cell_id": rest}
    return {"type": "regex", "pattern": re.escape(condition)}
