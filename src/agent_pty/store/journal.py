"""The journal of one session instance: an append-only file of events, each bound to the one before.

One process writes it, whoever holds its lock. An event is in the file when `append` returns, so it
survives the death of every process of ours; `sync` makes it survive the machine's.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import os
import threading
import time
import uuid
from collections import Counter
from typing import Any

from msgspec import UNSET

from agent_pty import log
from agent_pty.core.evidence.chain import Damaged, link, sealed
from agent_pty.core.evidence.event import (
    VERSION,
    Action,
    ActionKind,
    Gap,
    Observation,
    ObservationKind,
    Recorded,
    Recovery,
    encoded,
    type_of,
)
from agent_pty.errors import EvidenceUnavailable
from agent_pty.store.journal_files import make_room, path_of

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_CHUNK = 1 << 20
# So far back an intent without an outcome is looked for: those of one moment are few.
_ENOUGH_LINES = 64
_MOST_LOOKED_BACK = 64 << 20

Payload = Action | Observation


class Journal:
    """Writes the events of one instance into `<name>.jsonl` of a directory."""

    def __init__(
        self, directory: str, *, name: str, instance: str, file: str | None = None
    ) -> None:
        """Open it; *file* is the stem of its file if that is not the session's name."""
        self._directory = directory
        self._name = name
        self._file = file or name
        self._instance = instance
        self._missing: Counter[str] = Counter()
        self._refused = 0
        self._reason = ""
        self._fd = -1
        self._sequence = 0
        self._head: str | None = None
        self._size = 0
        self._dirty = False
        self._syncing = threading.Lock()
        try:
            self._open()
        except OSError as error:
            self._note_failure(error)

    @property
    def path(self) -> str:
        """Where the events are."""
        return path_of(self._directory, self._file)

    @property
    def closed(self) -> bool:
        """Whether the file is not open at present."""
        return self._fd < 0

    @property
    def sequence(self) -> int:
        """The number of the last event."""
        return self._sequence

    @property
    def head(self) -> str | None:
        """The hash of the last event."""
        return self._head

    @property
    def problem(self) -> str | None:
        """Why events are missing at present; None if all is well."""
        return self._reason or None

    # -- writing

    def append(
        self, payload: Payload, principal: dict[str, Any] | None = None, **facts: Any
    ) -> int:
        """Write an event and return its number, or refuse: then nothing may be done either.

        *facts* are other fields of the line: `git_snapshot`, `redacted`.
        """
        try:
            self._recover()
            return self._write(payload, principal, **facts)
        except OSError as error:
            self._note_failure(error)
            self._refused += 1
            raise EvidenceUnavailable(
                f"{self.path} cannot be written ({error.strerror}), so nothing was done: "
                "make room or make it writable, and try again",
                path=self.path,
            ) from error

    def attempt(
        self, payload: Payload, principal: dict[str, Any] | None = None, **facts: Any
    ) -> int | None:
        """Write an event of something that happens in any case; if that fails it is counted."""
        try:
            self._recover()
            return self._write(payload, principal, **facts)
        except OSError as error:
            self._note_failure(error)
            self._missing[type_of(payload)] += 1
            return None

    def look_again(self) -> None:
        """Find out whether events can be written again, if they could not be."""
        if self._reason:
            try:
                self._recover()
            except OSError as error:
                self._note_failure(error)

    def _note_failure(self, error: OSError) -> None:
        self._reason = error.strerror or str(error)

    def _recover(self) -> None:
        """Open the file again if need be, and say first what is missing."""
        if self._fd < 0:
            self._open()
        elif os.fstat(self._fd).st_nlink == 0:
            self._restore()
        if self._reason:
            missing = dict(self._missing)
            self._write(Gap(missing=missing, refused=self._refused, reason=self._reason), None)
            self._missing.clear()
            self._refused = 0
        self._reason = ""

    def _write(
        self,
        payload: Payload,
        principal: dict[str, Any] | None,
        *,
        git_snapshot: Any = None,
        redacted: dict[str, int] | None = None,
    ) -> int:
        line, digest = sealed(
            encoded(
                Recorded(
                    id=str(uuid.uuid4()),
                    session_id=self._name,
                    timestamp=_now(),
                    kind=_kind(payload),
                    git_snapshot=git_snapshot,
                    sequence=self._sequence + 1,
                    version=VERSION,
                    instance=self._instance,
                    monotonic_ns=time.monotonic_ns(),
                    principal=principal,
                    redacted=redacted or UNSET,
                    previous_hash=UNSET if self._head is None else self._head,
                )
            )
        )
        self._write_whole(line + b"\n")
        self._sequence += 1
        self._head = digest
        self._dirty = True
        return self._sequence

    def _write_whole(self, data: bytes) -> None:
        """Write all or nothing: half a line would be torn."""
        count = os.write(self._fd, data)
        while count < len(data):
            try:
                count += os.write(self._fd, data[count:])
            except OSError:
                os.ftruncate(self._fd, self._size)
                raise
        self._size += len(data)

    def sync(self) -> bool:
        """Return whether the disk has everything by now; may be called from another thread.

        If it has not, `problem` says so until the next event, and a gap before that event: the
        kernel forgets what it could not write, so that trying again proves nothing.
        """
        with self._syncing:  # who comes second waits for the first: only then the disk has it
            if not self._dirty or self.closed:
                return True
            self._dirty = False
            try:
                os.fdatasync(self._fd)
            except OSError as error:
                if self.closed:  # meanwhile: then there is nothing to say
                    return True
                self._dirty = True
                self._reason = f"the disk did not take what was written: {error.strerror}"
                log.line(f"{self.path}: {self._reason}")
                return False
        return True

    # -- the file

    def _open(self) -> None:
        """Open or create the file; what an earlier instance of the name wrote keeps its own."""
        make_room(self._directory, self._file, self._instance)
        fd = os.open(self.path, _FLAGS, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            torn = self._find_end(fd)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        if torn:
            aside = self._set_aside(torn)
            self._write(Recovery(bytes=len(torn), file=aside), None)

    def _find_end(self, fd: int) -> bytes:
        """Take up the chain at its last whole line; return what stands behind that."""
        size = os.fstat(fd).st_size
        begin, tail = size, b""
        while True:
            end, position = tail.rfind(b"\n"), None
            while end >= 0:
                start = tail.rfind(b"\n", 0, end) + 1
                if start == 0 and begin > 0:
                    break  # the line begins before what was read
                with contextlib.suppress(Damaged):
                    found = link(tail[start:end])
                    self._sequence, self._head = found.sequence, found.event_hash
                    position = end + 1
                    break
                end = start - 1
            if position is not None or begin == 0:
                keep = position or 0
                self._size = begin + keep
                return tail[keep:]
            step = min(_CHUNK, begin)
            begin -= step
            tail = os.pread(fd, step, begin) + tail

    def _set_aside(self, torn: bytes) -> str:
        aside = f"{self.path}.torn-{self._sequence}"
        fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(torn)
        os.ftruncate(self._fd, self._size)
        return aside

    def _restore(self) -> None:
        """Write the file again that somebody removed: we still have what was in it."""
        removed = self._fd
        fd = os.open(self.path, _FLAGS | os.O_EXCL, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            position = 0
            while piece := os.pread(removed, _CHUNK, position):
                position += os.write(fd, piece)
        except BaseException:
            os.unlink(self.path)
            os.close(fd)
            raise
        os.close(removed)
        self._fd = fd
        self._write(Recovery(bytes=0, file=self.path), None)

    def rename(self, name: str) -> None:
        """Follow the session to another name; a file that cannot be renamed keeps its own."""
        self._name = name
        try:
            make_room(self._directory, name, self._instance)
            os.rename(self.path, path_of(self._directory, name))
        except OSError as error:
            log.line(f"{self.path} keeps its name although its session is {name} now: {error}")
        else:
            self._file = name

    def unfinished(self) -> list[int]:
        """Return the numbers of the last intents that have no outcome: the writer died there."""
        open_intents: dict[int, None] = {}
        for line in self._last_lines():
            with contextlib.suppress(Damaged):
                found = link(line)
                payload = found.event["kind"]["payload"]
                if payload.get("type") == "send_keys":
                    open_intents[found.sequence] = None
                elif payload.get("type") == "outcome":
                    open_intents.pop(payload["of"], None)
        return list(open_intents)

    def _last_lines(self) -> list[bytes]:
        """Return the last events: a mebibyte of them, or as much as a few long ones have."""
        span = _CHUNK
        while self._fd >= 0:
            begin = max(0, self._size - span)
            lines = os.pread(self._fd, self._size - begin, begin).split(b"\n")
            if begin == 0 or len(lines) > _ENOUGH_LINES or span >= _MOST_LOOKED_BACK:
                return lines[1 if begin else 0 : -1]
            span *= 4
        return []

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _kind(payload: Payload) -> ActionKind | ObservationKind:
    if isinstance(payload, Observation):
        return ObservationKind(payload=payload)
    return ActionKind(payload=payload)


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
