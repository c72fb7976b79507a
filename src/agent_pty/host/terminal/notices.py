"""What a program told its terminal besides text: published, and the last few kept."""

from __future__ import annotations

from collections import deque

from agent_pty import emulator
from agent_pty.host import events
from agent_pty.host.events import Batch, Event, EventLog, Signal
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.ops.model import ClipboardSeen, Notified, ProgressSeen

_KEPT = 16


class Notices:
    """A listener that publishes titles, bells and the like; of some the newest are kept."""

    def __init__(self, output: TerminalOutput, log: EventLog) -> None:
        self.notifications: deque[Notified] = deque(maxlen=_KEPT)
        self.clipboard: deque[ClipboardSeen] = deque(maxlen=_KEPT)
        self.progress: ProgressSeen | None = None
        self._output = output
        self._log = log

    def notice(self, event: Event | Signal) -> None:
        """Publish what the emulator found in the last output."""
        if isinstance(event, Batch):
            for found in self._output.emulator.take_events():
                self._log.publish(self._published(found))

    def _published(self, found: emulator.Event) -> Event:
        cursor = self._output.cursor
        match found:
            case emulator.TitleChanged(title=title):
                return events.Title(cursor=cursor, title=title)
            case emulator.CwdChanged(cwd=cwd):
                return events.Cwd(cursor=cursor, cwd=cwd)
            case emulator.Bell():
                return events.Bell(cursor=cursor)
            case emulator.Notification(title=title, body=body):
                self.notifications.append(Notified(title=title, body=body))
                return events.Notification(cursor=cursor, title=title, body=body)
            case emulator.ClipboardWritten():
                return self._clipboard(found, cursor)
            case emulator.Progress(state=state, percent=percent):
                self.progress = ProgressSeen(state=state, percent=percent)
                return events.Progress(cursor=cursor, state=state, percent=percent)

    def _clipboard(self, found: emulator.ClipboardWritten, cursor: int) -> Event:
        text = found.data.decode(errors="replace")
        seen = ClipboardSeen(location=found.location, text=text, truncated=found.truncated)
        self.clipboard.append(seen)
        return events.Clipboard(
            cursor=cursor, location=seen.location, text=seen.text, truncated=seen.truncated
        )
