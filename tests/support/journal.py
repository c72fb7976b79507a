"""Read what was recorded of a session."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from support.agent import Agent


def recorded(agent: Agent, name: str, **more: Any) -> list[dict[str, Any]]:
    """Return the events of a session, all pages of them."""
    events: list[dict[str, Any]] = []
    while page := agent.ask("replay", id=name, after=len(events), **more):
        events += page
    assert [one["sequence"] for one in events] == list(range(1, len(events) + 1))
    return events


def payloads(agent: Agent, name: str, kind: str) -> list[dict[str, Any]]:
    """Return what the events of one type say."""
    found = (one["kind"]["payload"] for one in recorded(agent, name))
    return [one for one in found if one.get("type", "observation") == kind]


def typed(agent: Agent, name: str) -> list[str]:
    """Return the texts that were typed, as they are recorded."""
    return [bytes(one["bytes"]).decode() for one in payloads(agent, name, "send_keys")]


def file_of(agent: Agent, name: str) -> Path:
    """Return the journal of a session."""
    return Path(agent.layout.log_dir) / f"{name}.jsonl"


def gaps(agent: Agent, name: str) -> tuple[Counter[str], int]:
    """Return what all gaps of a journal say together: missing events by type, refused inputs.

    The end of a block may have room for a gap, but not for what comes after it: then there are two.
    """
    found = payloads(agent, name, "gap")
    missing: Counter[str] = Counter()
    for one in found:
        missing.update(one["missing"])
    return missing, sum(one["refused"] for one in found)
