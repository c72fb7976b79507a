"""The timeline of a session: a line for each event that a reviewer wants to see."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from agent_pty.core.evidence import event as events
from agent_pty.core.evidence.event_reader import ReadEvent
from agent_pty.core.evidence.label import label
from agent_pty.core.short_code import shortened
from agent_pty.proof.both_ends import BothEnds
from agent_pty.proof.person import who
from agent_pty.proof.typed_command import typed_text

_ROOM = 200_000
_LONGEST = 400
_MOST_MARKERS = 2000
# They say only that what stands beside them went well.
_QUIET = (events.Recording, events.GuardedPrograms)


class Moment(Struct, frozen=True, kw_only=True):
    """One line; *seconds* since the first event, *marker* its place in the player's markers."""

    event: int
    at: str
    seconds: float
    kind: str
    text: str
    by: str | None
    marker: int | None


class Marker(Struct, frozen=True, kw_only=True):
    """A place that the player can seek to."""

    monotonic_ns: int
    label: str


class Timeline:
    """Fed with all events; commands get markers, in their order."""

    def __init__(self) -> None:
        self.moments: BothEnds[Moment] = BothEnds(_ROOM)
        self.markers: list[Marker] = []
        self.by_cell: dict[str, int] = {}
        self._began: int | None = None

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        if self._began is None:
            self._began = event.monotonic_ns
        payload = event.payload
        if isinstance(payload, _QUIET):
            return
        if isinstance(payload, events.Outcome) and payload.result == "delivered":
            return
        if isinstance(payload, events.SendKeys) and (payload.input == "cell" or payload.held):
            return  # the cell's own line says it, or the piece that ends its line
        text = _text(event)
        self.moments.add(
            Moment(
                event=event.sequence,
                at=event.timestamp,
                seconds=round((event.monotonic_ns - self._began) / 1e9, 3),
                kind=events.type_of(payload),
                text=text[:_LONGEST],
                by=who(event.principal),
                marker=self._marker(event, text),
            )
        )

    def _marker(self, event: ReadEvent, text: str) -> int | None:
        payload = event.payload
        if not isinstance(payload, events.CellStarted | events.SendKeys) or not text:
            return None
        if len(self.markers) == _MOST_MARKERS:
            return None
        if isinstance(payload, events.CellStarted):
            self.by_cell[payload.cell_id] = len(self.markers)
        self.markers.append(Marker(monotonic_ns=event.monotonic_ns, label=shortened(text)))
        return len(self.markers) - 1


def _text(event: ReadEvent) -> str:
    match event.payload:
        case events.SendKeys() as keys:
            return typed_text(keys)
        case events.CellStarted(code=code):
            return code
    return label(msgspec.to_builtins(event.kind))
