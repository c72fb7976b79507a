"""The evidence of one session: intents before their effect, and what happens, as it happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from agent_pty.core.evidence import event as evidence
from agent_pty.core.redaction.redactor import redacted
from agent_pty.core.redaction.secret_name import is_secret_name
from agent_pty.host import events
from agent_pty.host.evidence.typed_text import TypedText
from agent_pty.host.principal import Principal
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.ops.model import Spec
from agent_pty.process import table
from agent_pty.store.journal import Journal

# Kinds of input that end what runs.
_STOPPING = frozenset({InputKind.INTERRUPT, InputKind.QUIT})
# States of a cell in which it may go on.
_OPEN = frozenset({"fired", "running", "waiting", "timeout"})


class Recorder:
    """Writes a journal; *wrote* is told that there is something to be synced."""

    def __init__(
        self, journal: Journal, spec: Spec, pid: int, wrote: Callable[[Journal], None]
    ) -> None:
        self._journal = journal
        self._spec = spec
        self._wrote = wrote
        self._known = [value.decode(errors="surrogateescape") for value in _secrets_of(pid)]
        self._typed = TypedText(one.encode(errors="surrogateescape") for one in self._known)
        # Intents whose outcome is not known yet: the number of the event, and its place here.
        self._intents: dict[int, int] = {}

    # -- before something is done

    def begin(self, *, recovered: bool) -> None:
        """Record that a program was started, or that another host goes on."""
        if recovered:
            unfinished = self._journal.unfinished()
            self._journal.attempt(evidence.HostRecovered(), _SYSTEM)
            for place in unfinished:
                self._journal.attempt(evidence.Outcome(of=place, result="unknown"), _SYSTEM)
        else:
            argv = [self._redacted(one) for one in self._spec.argv]
            self._journal.append(evidence.Exec(argv=argv, cwd=self._spec.workspace), _SYSTEM)
        self._wrote(self._journal)

    def intend(self, data: bytes, *, kind: str, by: Principal, entered: bool, unseen: bool) -> int:
        """Record what is about to be typed, or refuse it; return the place of the record.

        What stops a program is never refused: if it cannot be recorded, the gap is.
        """
        piece = self._typed.piece(data, unseen=unseen)
        action = evidence.SendKeys(
            bytes=list(piece.text), input=kind, entered=entered, held=piece.held
        )
        write = self._journal.attempt if kind in _STOPPING else self._journal.append
        place = write(action, _principal(by))
        self._typed.recorded(piece)
        self._wrote(self._journal)
        return place or 0

    def link(self, number: int, place: int) -> None:
        """The event *number* is the intent at *place*."""
        self._intents[number] = place

    # -- what happens in any case

    def note(self, action: evidence.Action, by: Principal | None = None) -> None:
        """Record something that nothing may prevent."""
        self._journal.attempt(action, _principal(by))
        self._wrote(self._journal)

    def notice(self, event: events.Event | events.Signal) -> None:
        """Record the events of the session that are evidence."""
        action = self._action(event)
        if action is not None:
            self.note(action, getattr(event, "by", None))
        if isinstance(event, events.Exited | events.Lost):
            self._journal.sync()

    def _action(self, event: events.Event | events.Signal) -> evidence.Action | None:
        action: evidence.Action | None = None
        match event:
            case events.Outcome():
                place = self._intents.pop(event.input, 0)
                action = evidence.Outcome(of=place, result=event.result, error=event.error)
            case events.Attached():
                action = evidence.AttachHuman(read_only=event.read_only)
            case events.CellChanged() if event.status == "fired":
                action = evidence.CellStarted(cell_id=event.cell_id)
            case events.CellChanged() if event.status not in _OPEN:
                action = evidence.CellFinished(
                    cell_id=event.cell_id, status=event.status, exit_code=event.exit_code
                )
            case events.Notify():
                who, message = self._redacted(event.who), self._redacted(event.message)
                action = evidence.Notify(who=who, message=message)
            case events.MarkForged():
                action = evidence.MarkForged(count=event.count)
            case events.Exited():
                action = evidence.Exited(exit_code=event.exit_code, signal=event.signal)
            case events.Lost():
                action = evidence.Lost(diagnosis=self._redacted(event.diagnosis))
        return action

    def rename(self, name: str) -> None:
        """Follow the session to its new name."""
        self._journal.rename(name)
        self.note(evidence.Rename(name=name))

    def close(self) -> None:
        """Write no more."""
        self._journal.close()

    def _redacted(self, text: str) -> str:
        return redacted(text, self._known)


_SYSTEM = {"kind": "system"}


def _principal(by: Principal | None) -> dict[str, Any] | None:
    return None if by is None else msgspec.to_builtins(by)


def _secrets_of(pid: int) -> list[bytes]:
    """Return the values of a program's environment whose names promise secrets."""
    found = []
    for variable in table.environment(pid):
        name, _, value = variable.partition(b"=")
        if value and is_secret_name(name.decode(errors="replace")):
            found.append(value)
    return found
