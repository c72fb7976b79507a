"""Read events of a journal as typed values; a line that is none is no event, whatever it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import msgspec
from msgspec import Struct

from agent_pty.core.evidence import tmux_event  # noqa: F401  its kinds are among those below
from agent_pty.core.evidence.event import Action, Observation
from agent_pty.core.evidence.git_snapshot import LeftOut

if TYPE_CHECKING:
    AnyAction = Action
else:
    AnyAction = Union[tuple(Action.__subclasses__())]  # noqa: UP007  made of what there is


class TreeState(Struct, frozen=True, kw_only=True):
    """What an event says of the work tree; *recorded_in*: the event that has the diffs."""

    workspace: str
    head: str | None = None
    head_commit: str | None = None
    branch: str | None = None
    clean: bool
    status_short: str = ""
    diff: str = ""
    staged_diff: str = ""
    taken_at: str = ""
    left_out: dict[str, LeftOut] = {}
    recorded_in: int | None = None


class _ActionKind(Struct, frozen=True, kw_only=True, tag_field="event_type", tag="action"):
    payload: AnyAction


class _ObservationKind(
    Struct, frozen=True, kw_only=True, tag_field="event_type", tag="observation"
):
    payload: Observation


class ReadEvent(Struct, frozen=True, kw_only=True):
    """One event, as far as proofs need it."""

    session_id: str
    timestamp: str
    kind: _ActionKind | _ObservationKind
    git_snapshot: TreeState | None = None
    sequence: int
    instance: str
    monotonic_ns: int
    principal: dict[str, Any] | None = None
    redacted: dict[str, int] = {}

    @property
    def payload(self) -> Action | Observation:
        """What happened."""
        return self.kind.payload

    @property
    def tree(self) -> TreeState | None:
        """What it says of the work tree, directly or in an observation."""
        if self.git_snapshot is not None or not isinstance(self.payload, Observation):
            return self.git_snapshot
        try:
            return msgspec.convert(self.payload.git_snapshot, TreeState | None)
        except msgspec.ValidationError:
            return None


_decoder = msgspec.json.Decoder(ReadEvent)


def read_event(line: bytes) -> ReadEvent | None:
    """Return the event of a line; None if it is damaged, or of a kind that this build lacks."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
