"""The events of a journal: the seed's fields in the seed's order, then ours."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

VERSION = 1


class Duration(Struct, frozen=True):
    """A length of time, as the seed writes it."""

    secs: int
    nanos: int


class Action(Struct, frozen=True, kw_only=True, tag_field="type", tag=True):
    """Something that was done; the tag is its name in the journal."""


class Exec(Action, frozen=True, kw_only=True, tag="exec"):
    """A program was started."""

    argv: list[str]
    cwd: str


class SendKeys(Action, frozen=True, kw_only=True, tag="send_keys"):
    """Input is about to be typed; written before the first byte is.

    *bytes* is the redacted text. A piece that does not end its line is held back: *held* of its
    bytes are recorded with the piece that ends the line.
    """

    bytes: list[int]
    input: str
    entered: bool
    held: int = 0


class Outcome(Action, frozen=True, kw_only=True, tag="outcome"):
    """What became of the input of event *of*."""

    of: int
    result: Literal["delivered", "failed", "unknown"]
    error: str | None = None


class Kill(Action, frozen=True, kw_only=True, tag="kill"):
    """The session was ended with all its processes."""

    signal: str = "kill"


class AttachHuman(Action, frozen=True, kw_only=True, tag="attach_human"):
    """A person attached."""

    read_only: bool


class Exited(Action, frozen=True, kw_only=True, tag="exited"):
    """The program ended; null: how is not known."""

    exit_code: int | None
    signal: int | None


class Resize(Action, frozen=True, kw_only=True, tag="resize"):
    """The terminal has another size."""

    rows: int
    cols: int


class SentSignal(Action, frozen=True, kw_only=True, tag="signal"):
    """Processes got a signal."""

    signal: str
    pids: list[int]


class Rename(Action, frozen=True, kw_only=True, tag="rename"):
    """The session has another name."""

    name: str


class Notify(Action, frozen=True, kw_only=True, tag="notify"):
    """Somebody left a note."""

    who: str = msgspec.field(name="from")
    message: str


class CellStarted(Action, frozen=True, kw_only=True, tag="cell_started"):
    """A command of a cell begins."""

    cell_id: str


class CellFinished(Action, frozen=True, kw_only=True, tag="cell_finished"):
    """A command of a cell has ended, or is no longer waited for."""

    cell_id: str
    status: str
    exit_code: int | None


class MarkForged(Action, frozen=True, kw_only=True, tag="mark_forged"):
    """The program wrote marks with a wrong secret; they had no effect."""

    count: int


class HostRecovered(Action, frozen=True, kw_only=True, tag="host_recovered"):
    """Another host continues the session."""


class Recovery(Action, frozen=True, kw_only=True, tag="recovery"):
    """The end of the journal was torn: *bytes* of it were set aside in *file*."""

    bytes: int
    file: str


class Gap(Action, frozen=True, kw_only=True, tag="gap"):
    """The journal could not be written for a while: so many events are missing, by their type."""

    missing: dict[str, int]
    reason: str


class Lost(Action, frozen=True, kw_only=True, tag="host_lost"):
    """The session can no longer be followed."""

    diagnosis: str


class ActionKind(Struct, frozen=True, kw_only=True, tag_field="event_type", tag="action"):
    """The envelope of an action."""

    payload: Action


class Recorded(Struct, frozen=True, kw_only=True):
    """One line of a journal."""

    id: str
    session_id: str
    timestamp: str
    kind: ActionKind
    git_snapshot: None
    sequence: int
    version: int
    instance: str
    monotonic_ns: int
    principal: dict[str, Any] | None
    previous_hash: str | UnsetType = UNSET
    event_hash: str = ""


def encoded(event: Recorded) -> bytes:
    """Return a line whose hash is still empty."""
    return msgspec.json.encode(event)
