"""Idempotency keys: what was asked with a key, and what was answered.

Rules of this file:

* A key is on disk before its request acts. So a repetition after a crash gets the error that the
  outcome of the first request is unknown, and never acts again; unless the request *continues*,
  that is, acting again takes up what was begun.
* A request with a key is a task of its own. It is cancelled when every caller that waits for it
  has been cancelled, and not because a caller's connection broke.
* A large answer is not kept. If it has a *reference*, it is made again from that; otherwise it is
  kept for a minute.
* A passing key, which begins with `~`, is of a command line that may repeat itself when the daemon
  died. It is forgotten a minute after its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from agent_pty import log
from agent_pty.errors import AnswerGone, BadRequest, HostLost, KeyReused
from agent_pty.ops.op import PASSING, replayed
from agent_pty.store import atomic

_MOST_KEYS = 1000
_LONGEST_KEY = 256
_LARGEST_KEPT = 4096
_PASSING_SECONDS = 60.0

Present = Callable[[], bool]


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One entry; without answer, reference and size the request has not been answered.

    *size* is that of an answer which is not kept.
    """

    key: str
    digest: str
    answer: str | None = None
    reference: str | None = None
    size: int = 0
    at: float = 0.0  # when a passing key was answered

    @property
    def answered(self) -> bool:
        """Whether the request was carried out."""
        return self.answer is not None or self.reference is not None or self.size > 0

    @property
    def passing(self) -> bool:
        """Whether the key is forgotten after a minute."""
        return self.key.startswith(PASSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer, and a reference from which it can be made again."""

    envelope: bytes
    reference: str | None = None


@dataclass(slots=True, eq=False)
class _Acting:
    task: asyncio.Task[bytes]
    callers: list[Present] = field(default_factory=list)


Act = Callable[[], Awaitable[bytes | Answered]]


class Ledger:
    """The keys of one session, or of the daemon; the file is made with the first key.

    *recall* makes an answer from its reference; it raises `AnswerGone` if that is not possible.
    """

    def __init__(
        self, path: str, *, recall: Callable[[str], Awaitable[bytes]] | None = None
    ) -> None:
        self._path = path
        self._recall = recall
        self._lines: OrderedDict[str, Line] = OrderedDict()
        self._passing: deque[str] = deque()  # keys that were answered, in that order
        self._acting: dict[str, _Acting] = {}
        # Large answers without a reference, for a minute.
        self._large: dict[str, bytes] = {}
        self._surplus = 0
        self._load()

    async def once(
        self,
        key: str | None,
        payload: bytes,
        act: Act,
        *,
        present: Present = lambda: True,
        continues: bool = False,
        durable: bool = True,
        secret: bool = False,
    ) -> bytes:
        """Return what *act* answers, or what it answered when *key* was first used.

        A caller that repeats a key while its first request still acts waits for that answer.
        *present* says whether the caller can still be answered. Without *durable* the key is not
        on disk, and neither is an answer that is *secret*.
        """
        if key is None:
            return _envelope(await act())
        if not key or len(key) > _LONGEST_KEY:
            raise BadRequest(f"a key has 1 to {_LONGEST_KEY} characters", field="key")
        self._forget_passed()
        digest = hashlib.sha256(payload).hexdigest()
        line, first = self._lines.get(key), False
        if line is None:
            line, first = Line(key=key, digest=digest), True
            self._begin(line, durable=durable)
        if line.digest != digest:
            raise KeyReused(line.key)
        if line.answered:
            return replayed(await self._kept(line))
        if key not in self._acting:
            if not first and not continues:
                raise _unknown(line)
            self._start(line, act, secret=secret)
        answer = await self._join(self._acting[key], present)
        return answer if first else replayed(answer)

    def interrupted(self, key: str | None) -> bool:
        """Whether a request with this key had begun in a process that died."""
        line = self._lines.get(key or "")
        return line is not None and not line.answered and line.key not in self._acting

    def _begin(self, line: Line, *, durable: bool) -> None:
        if not durable:
            self._lines[line.key] = line
            return
        try:
            self._append(line)
        except OSError:
            if not line.passing:
                raise
            # A full disk costs only what a crash would find.
            self._lines[line.key] = line

    def _start(self, line: Line, act: Act, *, secret: bool) -> None:
        task = asyncio.get_running_loop().create_task(self._carry_out(line, act, secret=secret))
        self._acting[line.key] = _Acting(task)
        task.add_done_callback(_note_failure)

    async def _carry_out(self, line: Line, act: Act, *, secret: bool) -> bytes:
        try:
            answered = await act()
            envelope = _envelope(answered)
            reference = answered.reference if isinstance(answered, Answered) else None
            self._keep(line, envelope, reference, secret=secret)
        finally:
            del self._acting[line.key]
        self._forget_oldest()
        return envelope

    async def _join(self, acting: _Acting, present: Present) -> bytes:
        """Wait for the answer; a caller that is cancelled cancels it, unless others wait."""
        acting.callers.append(present)
        try:
            return await asyncio.shield(acting.task)
        except asyncio.CancelledError:
            acting.callers.remove(present)
            if not any(one() for one in acting.callers):
                acting.task.cancel()
            raise

    # -- answers

    def _keep(self, line: Line, envelope: bytes, reference: str | None, *, secret: bool) -> None:
        kept = Line(key=line.key, digest=line.digest, at=time.time() if line.passing else 0.0)
        if len(envelope) <= _LARGEST_KEPT and not secret:
            kept.answer = envelope.decode()
        elif reference is not None and len(reference) <= _LARGEST_KEPT:
            kept.reference = reference
        else:
            kept.size = len(envelope)
            self._keep_for_a_minute(line.key, envelope)
        try:
            self._append(kept)
        except OSError as error:  # it was carried out all the same
            if not kept.passing:
                log.line(f"{self._path}: the answer for key {line.key!r} is not saved: {error}")
        self._note(kept)

    def _keep_for_a_minute(self, key: str, envelope: bytes) -> None:
        self._large[key] = envelope
        loop = asyncio.get_running_loop()
        loop.call_later(_PASSING_SECONDS, lambda: self._large.pop(key, None))

    async def _kept(self, line: Line) -> bytes:
        if line.answer is not None:
            return line.answer.encode()
        if line.key in self._large:
            return self._large[line.key]
        if line.reference is not None and self._recall is not None:
            return await self._recall(line.reference)
        raise AnswerGone(
            f"the request with key {line.key!r} was carried out; "
            f"its answer of {line.size} bytes is no longer kept",
            key=line.key,
        )

    # -- the file

    def _forget_passed(self) -> None:
        """Forget passing keys that were answered a minute ago."""
        limit = time.time() - _PASSING_SECONDS
        while self._passing and self._lines[self._passing[0]].at < limit:
            self._drop(self._passing[0])
        self._rewrite_if_worthwhile()

    def _forget_oldest(self) -> None:
        """Keep the newest keys, and those whose request still acts."""
        for key in [key for key in self._lines if key not in self._acting]:
            if len(self._lines) <= _MOST_KEYS:
                break
            self._drop(key)
        self._rewrite_if_worthwhile()

    def _drop(self, key: str) -> None:
        if self._lines.pop(key).at:
            self._passing.remove(key)
        self._surplus += 1

    def _rewrite_if_worthwhile(self) -> None:
        if self._surplus >= _MOST_KEYS:
            with contextlib.suppress(OSError):  # tried again with the next thousand
                self._rewrite()

    def _append(self, line: Line) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(self._path, flags, 0o600)
        size = os.fstat(fd).st_size
        try:
            atomic.write_all(fd, msgspec.json.encode(line) + b"\n")
        except OSError:
            os.ftruncate(fd, size)  # or the next line would be joined to half of this one
            raise
        finally:
            os.close(fd)
        self._note(line)

    def _note(self, line: Line) -> None:
        known = self._lines.get(line.key)
        if line.at and not (known is not None and known.at):
            self._passing.append(line.key)
        self._lines[line.key] = line

    def _load(self) -> None:
        try:
            with open(self._path, "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return
        if lines[-1]:  # it was cut off by a crash, and the next one must not be joined to it
            os.truncate(self._path, sum(len(raw) + 1 for raw in lines[:-1]))
        for raw in lines[:-1]:
            line = msgspec.json.decode(raw, type=Line)
            self._note(line)
        self._forget_passed()
        self._forget_oldest()
        with contextlib.suppress(OSError):  # on a full disk the file stays as long as it is
            self._rewrite()

    def _rewrite(self) -> None:
        self._surplus = 0
        rewritten = b"".join(msgspec.json.encode(line) + b"\n" for line in self._lines.values())
        atomic.replace(self._path, rewritten, durable=False)


def _envelope(answered: bytes | Answered) -> bytes:
    return answered.envelope if isinstance(answered, Answered) else answered


def _unknown(line: Line) -> HostLost:
    return HostLost(
        f"delivery unknown: the first request with key {line.key!r} was not answered; "
        "look before you ask again with a new key",
        key=line.key,
        delivery="unknown",
    )


def _note_failure(task: asyncio.Task[bytes]) -> None:
    """Look at the result: perhaps no caller is left to do that."""
    if not task.cancelled():
        task.exception()
