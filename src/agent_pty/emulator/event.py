"""What a program sent to its terminal besides text: typed values, and their bounded queue."""

from __future__ import annotations

from collections import deque
from typing import Literal

from msgspec import Struct

ClipboardLocation = Literal["standard", "selection", "primary"]
ProgressState = Literal["remove", "set", "error", "indeterminate", "pause"]

# A program may send events forever while nobody reads them; these limits bound the memory used.
MAX_EVENTS = 256
MAX_TEXT = 4096
MAX_CLIPBOARD = 64 * 1024
MAX_REPLIES = 256 * 1024


class TitleChanged(Struct, frozen=True, kw_only=True, tag=True):
    """The window title was set (OSC 0 or 2)."""

    title: str


class CwdChanged(Struct, frozen=True, kw_only=True, tag=True):
    """The shell reported its directory (OSC 7); None when it cleared that."""

    cwd: str | None


class Bell(Struct, frozen=True, kw_only=True, tag=True):
    """The bell rang."""


class Notification(Struct, frozen=True, kw_only=True, tag=True):
    """The program asked for a desktop notification (OSC 9 or 777)."""

    title: str
    body: str


class ClipboardWritten(Struct, frozen=True, kw_only=True, tag=True):
    """The program set a clipboard (OSC 52); no real clipboard was touched.

    Empty *data* means that it was cleared; *truncated* that the rest is lost.
    """

    location: ClipboardLocation
    data: bytes
    truncated: bool


class Progress(Struct, frozen=True, kw_only=True, tag=True):
    """The program reported its progress (OSC 9;4); *percent* is None when it gave none."""

    state: ProgressState
    percent: int | None


Event = TitleChanged | CwdChanged | Bell | Notification | ClipboardWritten | Progress


class Inbox:
    """Replies and events that wait for their reader.

    The C library holds a handle to this object and not to the emulator, so an emulator
    that nobody uses any more is freed at once.
    """

    __slots__ = ("_events", "_replies")

    def __init__(self) -> None:
        self._replies = bytearray()
        self._events: deque[Event] | None = None

    def reply(self, data: bytes) -> None:
        """Keep *data* for the program; past the limit whole replies are dropped."""
        if len(self._replies) + len(data) <= MAX_REPLIES:
            self._replies += data

    def add(self, event: Event) -> None:
        """Keep *event*; if there are too many, the oldest is dropped."""
        if self._events is None:
            self._events = deque(maxlen=MAX_EVENTS)
        self._events.append(event)

    def take_replies(self) -> bytes:
        """Return and forget the replies."""
        if not self._replies:
            return b""
        taken = bytes(self._replies)
        # A new buffer, because clear() would keep the memory of the largest burst.
        self._replies = bytearray()
        return taken

    def take_events(self) -> list[Event]:
        """Return and forget the events, oldest first."""
        taken = list(self._events or ())
        self._events = None
        return taken
