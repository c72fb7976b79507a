"""`approvals --follow`: the requests that wait, then new ones and decisions as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from agent_pty.words.call import Call
from agent_pty.words.event_line import Event
from agent_pty.words.followed import Followed

_KINDS = ("approval_requested", "approval_decided")


async def approval_events(call: Call, name: str | None) -> AsyncIterator[Event]:
    """Yield requests and decisions of one session or of all; each request once.

    What waits already is yielded as if it were requested now. The caller must have printed an
    event before it asks for the next one: the next daemon goes on after it.
    """
    followed = Followed(call)
    told: set[str] = set(followed.state or ())
    async for event in followed.events(name, _KINDS, announce=True):
        found: list[Event] = [] if event["event"] == "watching" else [event]
        # From the first event on none is missed; `lagged` says that some were.
        if event["event"] in {"watching", "lagged"}:
            found += [_requested(one) for one in await _pending(call, name)]
        for one in found:
            if _is_new(one, told):
                yield one
        await followed.settle(sorted(told))


def _is_new(event: Event, told: set[str]) -> bool:
    """Whether an event was not told yet; *told* has the requests that were and are undecided."""
    if event["event"] == "approval_decided":
        told.discard(event["request"])
    elif event["event"] == "approval_requested":
        if event["request"] in told:
            return False
        told.add(event["request"])
    return True


async def _pending(call: Call, name: str | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await call.ops.ask("approvals", id=name)
    return found


def _requested(pending: Mapping[str, Any]) -> Event:
    """Return a request that waits as the event that it was."""
    return {
        "event": "approval_requested",
        "id": pending["session_id"],
        "by": pending["requested_by"],
        "request": pending["id"],
        "rule": pending["rule"],
        "command": pending["command"],
        "cwd": pending["cwd"],
        "ts": pending["created_at"].replace("Z", "+00:00"),
    }
