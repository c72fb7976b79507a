"""The file of signed checkpoints of a home: one chain for all its sessions."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Struct

from agent_pty import log
from agent_pty.core.evidence.chain import ChainCheck
from agent_pty.core.evidence.checkpoint import (
    KEY_CHANGE_VERSION,
    REMOVAL_VERSION,
    ChainEnd,
    Checkpoint,
    KeyChange,
    Removal,
    chain_end,
    digest,
    signed,
)
from agent_pty.store import journal_reader
from agent_pty.store.append_lines import append_lines
from agent_pty.store.signing_key import SigningKey


class Known(Struct, frozen=True):
    """The last checkpoint of a journal, as far as it matters; *removed*: there is none any more."""

    name: str
    count: int
    head: str
    removed: bool = False


class Followed:
    """A journal as far as it was checked: only what is new is read for the next checkpoint."""

    def __init__(self, instance: str) -> None:
        self.instance = instance
        self._name = ""
        self._check = ChainCheck()
        self._offset = 0
        self._signed = 0
        self._expected: Known | None = None
        self._differs = False
        self._ended = False

    @property
    def name(self) -> str:
        """What its session is called."""
        return self._name

    def call(self, name: str) -> None:
        """Its session has this name now."""
        self._name = name

    @property
    def ended(self) -> bool:
        """Whether the program of the session has ended."""
        return self._ended

    def expect(self, known: Known | None) -> None:
        """Before anything is read: what was signed of it by another process, or for another one."""
        if self._offset == 0 and known is not None:
            self._expected, self._signed = known, known.count

    @property
    def is_what_was_signed(self) -> bool:
        """Whether what was read is what an earlier checkpoint says, and all of that."""
        known = self._expected
        return not self._differs and (known is None or self._check.count >= known.count)

    @property
    def whole_bytes(self) -> int | None:
        """How much of the journal was checked; None: it is damaged."""
        whole = self._check.first_error is None and self.is_what_was_signed
        return self._offset if whole else None

    @property
    def unsigned(self) -> int:
        """How many events no checkpoint covers."""
        return self._check.count - self._signed

    def read_on(self, path: str) -> None:
        """Check what was written since the last time."""
        with open(path, "rb") as file:
            file.seek(self._offset)
            for line in journal_reader.whole_lines(file):
                event = self._check.feed(line)
                if event is None:
                    return
                known = self._expected
                if known is not None and self._check.count == known.count:
                    self._differs = self._check.head != known.head
                self._ended |= event["kind"]["payload"].get("type") == "exited"
                self._offset += len(line) + 1

    @property
    def end(self) -> tuple[int, str] | None:
        """Count and head to be signed; None if there is nothing to sign.

        What is not what was signed before is never signed: that would make it good.
        """
        if self._check.head is None or not self.unsigned or not self.is_what_was_signed:
            return None
        return self._check.count, self._check.head

    def note_signed(self, count: int) -> None:
        """A checkpoint covers that many events now."""
        self._signed = count


class Checkpoints:
    """Appends to the chain; one daemon does it."""

    def __init__(self, path: str, key: SigningKey) -> None:
        self._path = path
        self._key = key
        self._end, self._known = _read(path)

    def known(self, instance: str) -> Known | None:
        """Return what was signed last of a journal; None: nothing."""
        return self._known.get(instance)

    @property
    def names(self) -> dict[str, str]:
        """What the sessions whose journals should be there were last called, by instance."""
        return {instance: one.name for instance, one in self._known.items() if not one.removed}

    def add(self, journal: Followed, count: int, head: str, *, closed: bool) -> None:
        """Sign how long a journal is, and put it on the disk; if that fails nothing has changed."""
        self._append(
            Checkpoint(
                number=self._end.number + 1,
                instance=journal.instance,
                name=journal.name,
                count=count,
                head=head,
                closed=closed,
                time=_now(),
                previous=self._end.digest,
                key=self._key.id,
            )
        )
        journal.note_signed(count)

    def add_removal(
        self, instance: str, name: str, *, count: int, head: str, removed: Removal
    ) -> None:
        """Sign that a journal is about to be removed on purpose."""
        self._append(
            Checkpoint(
                version=REMOVAL_VERSION,
                number=self._end.number + 1,
                instance=instance,
                name=name,
                count=count,
                head=head,
                closed=True,
                time=_now(),
                previous=self._end.digest,
                key=self._key.id,
                removed=removed,
            )
        )

    def _append(self, checkpoint: Checkpoint) -> None:
        if self._end.key not in ("", checkpoint.key):
            checkpoint = self._with_key_change(checkpoint)
        line = signed(checkpoint, self._key.sign)
        append_lines(self._path, line + b"\n", durable=True)
        self._end = ChainEnd(checkpoint.number, digest(line), checkpoint.key)
        _note(self._known, checkpoint)

    def _with_key_change(self, checkpoint: Checkpoint) -> Checkpoint:
        """Say that another key signs from now on, and whether the one before has named it."""
        before = self._end.key
        if before in self._key.predecessors():
            change = KeyChange(before=before, reason="rotated")
        else:
            change = KeyChange(before=before, reason="lost")
            log.line(f"checkpoints: {before}, which signed them, is gone: {checkpoint.key} does")
        return msgspec.structs.replace(checkpoint, version=KEY_CHANGE_VERSION, key_change=change)


def lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a file of checkpoints; none if there is no file."""
    if os.path.exists(path):
        yield from journal_reader.lines(path)


def _read(path: str) -> tuple[ChainEnd, dict[str, Known]]:
    """Return the end of a chain, and what it says of each journal."""
    last, known = b"", dict[str, Known]()
    for line in lines(path):
        last = line
        with contextlib.suppress(msgspec.DecodeError):  # `verify` names a line that is none
            _note(known, msgspec.json.decode(line, type=Checkpoint))
    return chain_end(last) if last else ChainEnd(), known


def _note(known: dict[str, Known], one: Checkpoint) -> None:
    known.pop(one.instance, None)  # the last ones stand at the end
    known[one.instance] = Known(one.name, one.count, one.head, one.removed is not UNSET)


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
