"""Who acted, in a few words; and who attached or typed when."""

from __future__ import annotations

from typing import Any

import msgspec

from agent_pty.core.evidence.event import AttachHuman, SendKeys
from agent_pty.core.evidence.event_reader import ReadEvent
from agent_pty.ops.proof_model import Attached, Typist
from agent_pty.proof.both_ends import BothEnds

_ROOM = 64_000
_MOST_TYPISTS = 100


def who(principal: dict[str, Any] | None) -> str | None:
    """Return who acted; None: nobody is recorded.

    >>> who({"kind": "human", "transport": "unix", "uid": 1000, "pid": 7})
    'human over unix, uid 1000'
    """
    if principal is None:
        return None
    text = str(principal.get("kind", "somebody"))
    if principal.get("transport") is not None:
        text += f" over {principal['transport']}"
    if principal.get("uid") is not None:
        text += f", uid {principal['uid']}"
    return text


class People:
    """Fed with all events; knows who attached, and who typed how much."""

    def __init__(self) -> None:
        self.attached: BothEnds[Attached] = BothEnds(_ROOM)
        self._typists: dict[str, Typist] = {}

    @property
    def typed(self) -> list[Typist]:
        """Who typed, in the order in which they began."""
        return list(self._typists.values())

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        match event.payload:
            case AttachHuman(read_only=read_only):
                seen = Attached(
                    event=event.sequence,
                    at=event.timestamp,
                    read_only=read_only,
                    by=who(event.principal),
                )
                self.attached.add(seen)
            case SendKeys() as keys:
                self._note_typed(event, len(keys.bytes))

    def _note_typed(self, event: ReadEvent, count: int) -> None:
        name = who(event.principal) or "unknown"
        if name not in self._typists and len(self._typists) >= _MOST_TYPISTS:
            name = "others"
        before = self._typists.get(name)
        now = Typist(
            by=name,
            kind=(event.principal or {}).get("kind"),
            inputs=1,
            bytes=count,
            first_event=event.sequence,
            last_event=event.sequence,
            first_at=event.timestamp,
            last_at=event.timestamp,
        )
        if before is not None:
            now = msgspec.structs.replace(
                now,
                inputs=before.inputs + 1,
                bytes=before.bytes + count,
                first_event=before.first_event,
                first_at=before.first_at,
            )
        self._typists[name] = now
