"""The evidence of one session: intents before their effect, and what happens, as it happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from agent_pty.core.evidence import event as evidence
from agent_pty.core.evidence.predicate import duration, predicate
from agent_pty.core.evidence.tmux_event import Adopted
from agent_pty.core.redaction.argv import redacted_argv
from agent_pty.host import events
from agent_pty.host.evidence.cleaning import Cleaner
from agent_pty.host.evidence.recorded_events import RECORDED
from agent_pty.host.evidence.typed_text import TypedText
from agent_pty.host.principal import Principal
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.ops.model import TAIL_CHARACTERS, Observation, Spec
from agent_pty.store.journal import Journal, Payload

# Kinds of input that end what runs.
_STOPPING = frozenset({InputKind.INTERRUPT, InputKind.QUIT})


class TypedMemory(Protocol):
    """Remembers input whose line has not ended, longer than this process lives."""

    @property
    def typed(self) -> tuple[int, bytes]:
        """Its length, and as much of its end as is kept."""

    @property
    def key_lines(self) -> int:
        """How many lines a private key may still have that is being typed; 0: none is."""

    def note_typed(self, held: bytes, key_lines: int) -> None:
        """Remember it."""


class Recorder:
    """Writes a journal; *wrote* is told that there is something to be synced.

    If it is *required*, what cannot be recorded is refused.
    """

    def __init__(
        self,
        journal: Journal,
        spec: Spec,
        cleaner: Cleaner,
        wrote: Callable[[Journal], None],
        output: TypedMemory,
        *,
        required: bool = True,
    ) -> None:
        self._journal = journal
        self._spec = spec
        self._cleaner = cleaner
        self._wrote = wrote
        self._required = required
        self._output = output
        self._typed = TypedText(cleaner, output.note_typed)
        self._listener: Callable[[bytes], None] | None = None
        # Intents whose outcome is not known yet: the number of the event, and its place here.
        self._intents: dict[int, int] = {}
        self._device_replies = 0
        # Bytes of a line that the terminal does not show.
        self._unseen = 0

    @property
    def journal(self) -> Journal:
        """The file."""
        return self._journal

    @property
    def known_secrets(self) -> list[str]:
        """Values that are secret wherever they stand."""
        return self._cleaner.known_texts

    def give_typed_to(self, listener: Callable[[bytes], None]) -> None:
        """Let somebody else have what is typed, without its secrets."""
        self._listener = listener

    # -- before something is done

    def begin(self, *, recovered: bool) -> None:
        """Record that a program was started, or that another host goes on."""
        if recovered:
            self._typed.resume(*self._output.typed, self._output.key_lines)
            unfinished = self._journal.unfinished()
            self._attempt(evidence.HostRecovered(), _SYSTEM)
            for place in unfinished:
                self._attempt(evidence.Outcome(of=place, result="unknown"), _SYSTEM)
        else:
            self._append(self._beginning(), _SYSTEM)

    def _beginning(self) -> evidence.Action:
        argv = redacted_argv(self._spec.argv, self._cleaner.known_texts)
        cwd, place = self._spec.workspace, self._spec.tmux
        if place is None or not place.adopted:
            return evidence.Exec(argv=argv, cwd=cwd)
        return Adopted(tmux_session=place.session, pane=place.pane, argv=argv, cwd=cwd)

    def intend(self, data: bytes, *, kind: str, by: Principal, entered: bool, unseen: bool) -> int:
        """Record what is about to be typed, or refuse it; return the place of the record.

        What stops a program is never refused: if it cannot be recorded, the gap is.
        """
        piece = self._typed.piece(data, unseen=unseen)
        action = evidence.SendKeys(
            bytes=list(piece.text), input=kind, entered=entered, held=piece.held
        )
        write = self._attempt if kind in _STOPPING else self._append
        place = write(action, _principal(by))
        self._typed.recorded(piece)
        self._note_secret(data, _principal(by), unseen=unseen)
        if self._listener is not None and piece.text:
            self._listener(piece.text)
        return place or 0

    def _note_secret(self, data: bytes, by: dict[str, Any] | None, *, unseen: bool) -> None:
        """Say that a secret was entered, once its line has ended."""
        self._unseen = self._unseen + len(data.rstrip(b"\r\n")) if unseen else 0
        if self._unseen and data.endswith((b"\r", b"\n")):
            self._attempt(evidence.SecretEntered(bytes=self._unseen), by)
            self._unseen = 0

    def link(self, number: int, place: int) -> None:
        """The event *number* is the intent at *place*."""
        self._intents[number] = place

    # -- what happens in any case

    def note(self, action: evidence.Action, by: Principal | None = None) -> None:
        """Record something that nothing may prevent."""
        self._attempt(action, _principal(by))

    def note_recording(self, action: evidence.Action, covered: Mapping[str, int]) -> None:
        """Record how far the recording of the terminal is; secrets *covered* in it are counted."""
        self._cleaner.add_counts(covered)
        self._attempt(action, _SYSTEM)

    def note_device_reply(self) -> None:
        """Count an answer of the terminal to its program."""
        self._device_replies += 1

    def note_wait(self, conditions: Sequence[str], patience: float, by: Principal) -> None:
        """Record that somebody begins to wait."""
        waited = [self._cleaner.text(one) for one in conditions]
        self.note(evidence.WaitFor(predicate=predicate(waited), timeout=duration(patience)), by)

    def clean(self, text: str) -> str:
        """Return a text as it may be recorded."""
        return self._cleaner.text(text)

    def note_snapshot(self, action: evidence.SnapshotFiles, snapshot: dict[str, Any]) -> int | None:
        """Record how the work tree is; return the place of the record."""
        return self._attempt(action, _SYSTEM, git_snapshot=snapshot)

    def note_observation(
        self, seen: Observation, snapshot: dict[str, Any] | None, by: Principal
    ) -> None:
        """Record what a wait saw at its end; *snapshot* is what is said of the work tree."""
        clean = self._cleaner.text
        observed = evidence.Observation(
            screen_text=self._cleaner.excerpt(seen.screen.text),
            stdout_tail=self._cleaner.excerpt(_whole_lines(seen.stdout_tail)),
            stderr_tail=seen.stderr_tail,
            exit_status=seen.exit_status,
            files_changed=_changes(seen, clean),
            git_snapshot=snapshot,
            process_snapshot=_processes(seen, clean),
            matched=clean(seen.matched),
            cursor=seen.cursor,
        )
        self._attempt(observed, _principal(by))

    def notice(self, event: events.Event | events.Signal) -> None:
        """Record the events of the session that are evidence."""
        action = self._action(event)
        if action is not None:
            self.note(action, getattr(event, "by", None))
        if isinstance(event, events.Exited | events.Lost):
            self._journal.sync()

    def _action(self, event: events.Event | events.Signal) -> evidence.Action | None:
        if isinstance(event, events.Outcome):
            place = self._intents.pop(event.input, 0)
            error = None if event.error is None else self._cleaner.text(event.error)
            return evidence.Outcome(of=place, result=event.result, error=error)
        if isinstance(event, events.Exited):
            return evidence.Exited(
                exit_code=event.exit_code,
                signal=event.signal,
                device_replies=self._device_replies,
            )
        describe = RECORDED.get(type(event))
        return None if describe is None else describe(event, self._cleaner)

    def rename(self, name: str) -> None:
        """Follow the session to its new name."""
        self._journal.rename(name)
        self.note(evidence.Rename(name=name))

    def close(self) -> None:
        """Write no more."""
        self._journal.close()

    # -- the journal

    def _append(self, payload: Payload, principal: dict[str, Any] | None) -> int | None:
        if not self._required:
            return self._attempt(payload, principal)
        counts = self._cleaner.take_counts()
        place = self._journal.append(payload, principal, redacted=counts)
        self._wrote(self._journal)
        return place

    def _attempt(
        self, payload: Payload, principal: dict[str, Any] | None, **facts: Any
    ) -> int | None:
        counts = self._cleaner.take_counts()
        place = self._journal.attempt(payload, principal, redacted=counts, **facts)
        self._wrote(self._journal)
        return place


_SYSTEM = {"kind": "system"}


def _principal(by: Principal | None) -> dict[str, Any] | None:
    return None if by is None else msgspec.to_builtins(by)


def _whole_lines(tail: str) -> str:
    """Return a tail without the line that its beginning cuts: half a secret looks like nothing."""
    cut = len(tail) >= TAIL_CHARACTERS and "\n" in tail
    return tail.partition("\n")[2] if cut else tail


def _changes(seen: Observation, clean: Callable[[str], str]) -> list[Any] | None:
    if seen.files_changed is None:
        return None
    found: list[dict[str, Any]] = msgspec.to_builtins(seen.files_changed)
    return [{**one, "path": clean(one["path"])} for one in found]


def _processes(seen: Observation, clean: Callable[[str], str]) -> dict[str, Any] | None:
    """Return the processes as they were; a command line may have a secret in it."""
    if seen.process_snapshot is None:
        return None
    found: dict[str, Any] = msgspec.to_builtins(seen.process_snapshot)
    for one in found["processes"]:
        one["command"] = clean(one["command"])
    return found
