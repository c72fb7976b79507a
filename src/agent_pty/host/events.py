"""The events of one session: typed, numbered, given to every listener in one stated order.

There are two sorts:

* Published events have a number and a time. The last 1,000 are kept, so that a watcher can
  continue after an interruption.
* Signals (`Batch`, `Typed`, `ProgramGone` ...) are for the listeners inside the session only. They
  carry what is too large or too frequent to keep.

Rule of this file: a listener gets published events in the order of their numbers. What a
listener publishes while it handles a published event is delivered after that event.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct, field

from agent_pty.core.mark import LineReport, PlacedMark
from agent_pty.host.principal import Principal
from agent_pty.ops.model import Ending

KEPT = 1000


class Event(Struct, frozen=True, kw_only=True, tag_field="event", omit_defaults=True):
    """Base of published events. *cursor* is where the transcript was, *by* who caused it."""

    cursor: int
    by: Principal | None = None


class Created(Event, frozen=True, kw_only=True, tag="created"):
    """The session has begun."""

    pid: int


class Renamed(Event, frozen=True, kw_only=True, tag="renamed"):
    """The session has another name."""

    name_now: str


class Input(Event, frozen=True, kw_only=True, tag="input"):
    """Somebody is about to give input of a *kind*: published before a byte is typed.

    *entered* is whether it ends a line.
    """

    kind: str
    bytes: int
    entered: bool


class Outcome(Event, frozen=True, kw_only=True, tag="outcome"):
    """What became of the input numbered *input*."""

    input: int
    result: Literal["delivered", "failed"]
    error: str | None = None


class Output(Event, frozen=True, kw_only=True, tag="output"):
    """The program wrote something; one event for a burst."""

    bytes: int


class Prompt(Event, frozen=True, kw_only=True, tag="prompt"):
    """The unfinished line looks like a prompt."""

    prompt: str


class Title(Event, frozen=True, kw_only=True, tag="title"):
    """The program set the title."""

    title: str


class Cwd(Event, frozen=True, kw_only=True, tag="cwd"):
    """The program reported its directory."""

    cwd: str | None


class ApprovalRequested(Event, frozen=True, kw_only=True, tag="approval_requested"):
    """Something that a rule forbids without an approval was refused, and one was asked for."""

    request: str
    rule: str
    command: str
    cwd: str | None = None


class ApprovalDecided(Event, frozen=True, kw_only=True, tag="approval_decided"):
    """An operator has decided about a request."""

    request: str
    rule: str
    approved: bool


class Bell(Event, frozen=True, kw_only=True, tag="bell"):
    """The bell rang."""


class Notification(Event, frozen=True, kw_only=True, tag="notification"):
    """The program asked for a desktop notification."""

    title: str
    body: str


class Clipboard(Event, frozen=True, kw_only=True, tag="clipboard"):
    """The program tried to write a clipboard; none was touched."""

    location: str
    text: str
    truncated: bool


class Progress(Event, frozen=True, kw_only=True, tag="progress"):
    """The program reported progress."""

    state: str
    percent: int | None


class Attached(Event, frozen=True, kw_only=True, tag="attached"):
    """A person attached; *attached* is how many there are now."""

    read_only: bool
    attached: int


class Detached(Event, frozen=True, kw_only=True, tag="detached"):
    """A person left."""

    attached: int


class CellChanged(Event, frozen=True, kw_only=True, tag="cell"):
    """A cell began, ended, waits for a person or took longer than its limit.

    *exit_code* is that of a command that ended, if there is one and it is known.
    """

    cell_id: str
    status: str
    waiting_for: str | None = field(name="for", default=None)
    exit_code: int | None = None


class Notify(Event, frozen=True, kw_only=True, tag="notify"):
    """Somebody left a note."""

    who: str = field(name="from")
    message: str


class MarkForged(Event, frozen=True, kw_only=True, tag="mark_forged"):
    """The program wrote marks of the shell integration with a wrong secret; they had no effect."""

    count: int


class OutputGap(Event, frozen=True, kw_only=True, tag="output_gap"):
    """Output was lost here, because nobody could read the terminal for a while."""

    reason: str


class Exited(Event, frozen=True, kw_only=True, tag="exited"):
    """The program ended, and everything it wrote was read."""

    exit_code: int | None
    signal: int | None


class Lost(Event, frozen=True, kw_only=True, tag="lost"):
    """The session can no longer be followed."""

    diagnosis: str


# -- signals


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Bytes that the terminal wrote, already in transcript and emulator.

    *replies* are what the terminal must answer to the queries in them.
    """

    data: bytes
    marks: Sequence[PlacedMark]
    replies: bytes
    reports: Sequence[LineReport] = ()  # what the shell says of its line, asked by us


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """Input has been given to the terminal; *echo* is what of it the terminal will show."""

    kind: str
    echo: Sequence[str]
    entered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramGone:
    """The program ended; `Exited` or `Lost` follows when everybody has let go of it."""

    ending: Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class CellBegan:
    """The code of a cell is about to be typed."""

    cell_id: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellEnded:
    """The command of a cell has ended; *output_tail* returns the end of its output."""

    cell_id: str
    status: str
    exit_code: int | None
    duration_ms: int
    output_bytes: int
    output_tail: Callable[[int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signalled:
    """The processes of a group got a signal, or will; without *group* all of the session."""

    number: int
    group: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resized:
    """The terminal is about to have another size."""

    rows: int
    cols: int


Signal = Batch | Typed | ProgramGone | CellBegan | CellEnded | Signalled | Resized


class Listener(Protocol):
    """Takes part in a session by what happens in it."""

    def notice(self, event: Event | Signal) -> None:
        """React to one event; unknown kinds are ignored."""


class Numbered(Struct, frozen=True, kw_only=True):
    """A published event, its number and when it happened."""

    seq: int
    at: str
    event: Event


class EventLog:
    """Numbers events, keeps the last of them and gives each to every listener.

    *number* is the last number that was used, *note* is told each new one, so that another
    host can continue the count after a crash.
    """

    def __init__(
        self, *, number: int = 0, note: Callable[[int], None] = lambda _number: None
    ) -> None:
        self._number = number
        self._note = note
        self._kept: deque[Numbered] = deque(maxlen=KEPT)
        self._listeners: list[Listener] = []
        self._watchers: list[Callable[[Numbered], None]] = []
        self._due: deque[Numbered] = deque()
        self._delivering = False
        self._closed = False

    @property
    def number(self) -> int:
        """The number of the last event."""
        return self._number

    def add(self, *listeners: Listener) -> None:
        """Register listeners; they are told in the order in which they were added."""
        self._listeners += listeners

    def watch(self, watcher: Callable[[Numbered], None]) -> None:
        """Give published events to somebody outside the session, after all listeners."""
        self._watchers.append(watcher)

    def signal(self, signal: Signal) -> None:
        """Tell the listeners something that is neither numbered nor kept."""
        for listener in self._listeners:
            listener.notice(signal)

    def publish(self, event: Event) -> int:
        """Number an event, keep it and tell everybody; return its number."""
        if self._closed:  # a viewer may leave after the session was freed
            return self._number
        self._number += 1
        self._note(self._number)
        numbered = Numbered(seq=self._number, at=_now(), event=event)
        self._kept.append(numbered)
        self._due.append(numbered)
        if not self._delivering:
            self._deliver()
        return numbered.seq

    def _deliver(self) -> None:
        self._delivering = True
        try:
            while self._due:
                numbered = self._due.popleft()
                for listener in self._listeners:
                    listener.notice(numbered.event)
                for watcher in self._watchers:
                    watcher(numbered)
        finally:
            self._delivering = False

    def close(self) -> None:
        """Drop what is published from now on."""
        self._closed = True

    def since(self, number: int) -> tuple[list[Numbered], int]:
        """Return the events after *number* that are kept, and how many are missing before them."""
        found = [one for one in self._kept if one.seq > number]
        first = found[0].seq if found else self._number + 1
        return found, max(0, first - number - 1)


def encoded(numbered: Numbered, *, name: str, instance: str) -> dict[str, Any]:
    """Return an event as watchers get it: its kind and session first, its number and time last."""
    facts: dict[str, Any] = msgspec.to_builtins(numbered.event)
    kind = facts.pop("event")
    head = {"event": kind, "id": name, "instance": instance}
    return {**head, **facts, "seq": numbered.seq, "ts": numbered.at}


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
