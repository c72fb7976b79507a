"""Follow events across the death of a daemon. Pure: the streams, sync and async, send and receive.

Of one session the next daemon continues after the last event seen. Where that is not possible a
`lagged` event, whose `missed` is None, says that some may be missing.
"""

from __future__ import annotations

from typing import Any

from agent_pty.api.results import Event, event
from agent_pty.errors import DaemonUnreachable

_MOST_LOSSES = 10


class Following:
    """Open `watch` with *fields*; call `feed` with each line, and `lost` if the stream ends."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = {name: value for name, value in fields.items() if value is not None}
        self._losses = 0

    def feed(self, line: bytes) -> Event:
        """Return the event in a line."""
        found = event(line)
        self._losses = 0
        if "id" in self.fields and found.seq is not None:
            self.fields["since"] = found.seq
        if "id" in self.fields and found.event == "renamed":
            self.fields["id"] = found.facts["name_now"]
        return found

    def lost(self) -> Event | None:
        """The stream ended: return what to tell the caller before it is opened again."""
        self._losses += 1
        if self._losses > _MOST_LOSSES:
            raise self.gave_up()
        return None if "since" in self.fields else Event(event="lagged", facts={"missed": None})

    def gave_up(self) -> DaemonUnreachable:
        """Return the error for a stream that cannot be opened again."""
        return DaemonUnreachable("the daemon went away; nobody reports events any more")
