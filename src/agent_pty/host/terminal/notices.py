"""What a program told its terminal besides text, kept for who asks later."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import msgspec

from agent_pty.emulator import (
    Bell,
    ClipboardWritten,
    CwdChanged,
    Event,
    Notification,
    Progress,
    TitleChanged,
)
from agent_pty.ops.model import ClipboardSeen, Notified, ProgressSeen

_KEPT = 16


class Notices:
    """The last few of each kind; the newest last."""

    def __init__(self) -> None:
        self.notifications: deque[Notified] = deque(maxlen=_KEPT)
        self.clipboard: deque[ClipboardSeen] = deque(maxlen=_KEPT)
        self.progress: ProgressSeen | None = None

    def take(self, events: Iterable[Event]) -> list[tuple[str, dict[str, Any]]]:
        """Keep what is to be kept; return each event's name and facts, for who watches."""
        return [self._one(event) for event in events]

    def _one(self, event: Event) -> tuple[str, dict[str, Any]]:
        match event:
            case TitleChanged(title=title):
                return "title", {"title": title}
            case CwdChanged(cwd=cwd):
                return "cwd", {"cwd": cwd}
            case Bell():
                return "bell", {}
            case Notification(title=title, body=body):
                self.notifications.append(Notified(title=title, body=body))
                return "notification", {"title": title, "body": body}
            case ClipboardWritten():
                return "clipboard", self._clipboard(event)
            case Progress(state=state, percent=percent):
                self.progress = ProgressSeen(state=state, percent=percent)
                return "progress", {"state": state, "percent": percent}

    def _clipboard(self, event: ClipboardWritten) -> dict[str, Any]:
        seen = ClipboardSeen(
            location=event.location,
            text=event.data.decode(errors="replace"),
            truncated=event.truncated,
        )
        self.clipboard.append(seen)
        facts: dict[str, Any] = msgspec.to_builtins(seen)
        return facts
