"""Input as evidence: its intent before a byte is typed, its outcome afterwards."""

from __future__ import annotations

from agent_pty.host import events
from agent_pty.host.events import EventLog
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.principal import Principal
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.output import TerminalOutput


class Intents:
    """Records and publishes what is typed."""

    def __init__(self, recorder: Recorder, log: EventLog, output: TerminalOutput) -> None:
        self._recorder = recorder
        self._events = log
        self._output = output

    def begin(
        self, data: bytes, *, kind: InputKind, by: Principal, entered: bool, unseen: bool
    ) -> int:
        """Record what is about to be typed; what cannot be recorded must not be typed.

        Return its number, with which to call `end`.
        """
        place = self._recorder.intend(data, kind=str(kind), by=by, entered=entered, unseen=unseen)
        number = self._events.publish(
            events.Input(
                cursor=self._output.cursor,
                by=by,
                kind=str(kind),
                bytes=len(data),
                entered=entered,
            )
        )
        self._recorder.link(number, place)
        return number

    def end(self, number: int, *, by: Principal, error: str | None = None) -> None:
        """Say what became of it."""
        self._events.publish(
            events.Outcome(
                cursor=self._output.cursor,
                by=by,
                input=number,
                result="delivered" if error is None else "failed",
                error=error,
            )
        )
