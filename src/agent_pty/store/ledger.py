"""Idempotency keys: what was asked with a key, and what was answered.

Rule of this file: a key is on disk before its request acts. So a repetition after a crash
gets the error that the outcome of the first request is unknown, and never acts again.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from agent_pty.errors import BadRequest, HostLost, KeyReused
from agent_pty.ops.op import replayed
from agent_pty.store import atomic

_MOST_KEYS = 1000
_LONGEST_KEY = 256


class Line(msgspec.Struct, kw_only=True):
    """One entry; *answer* is null until the request has been answered."""

    key: str
    digest: str
    answer: str | None = None


class Ledger:
    """The keys of one session, or of the daemon; the file is made with the first key."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lines: OrderedDict[str, Line] = OrderedDict()
        self._acting: dict[str, asyncio.Future[bytes | None]] = {}
        self._surplus = 0
        self._load()

    async def once(
        self, key: str | None, payload: bytes, act: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """Return what *act* answers, or what it answered when *key* was first used.

        A caller that repeats a key while its first request still acts waits for that answer.
        """
        if key is None:
            return await act()
        if not key or len(key) > _LONGEST_KEY:
            raise BadRequest(f"a key has 1 to {_LONGEST_KEY} characters", field="key")
        digest = hashlib.sha256(payload).hexdigest()
        if key in self._lines:
            return replayed(await self._known(self._lines[key], digest))
        return await self._first(Line(key=key, digest=digest), act)

    async def _known(self, line: Line, digest: str) -> bytes:
        if line.digest != digest:
            raise KeyReused(line.key)
        if line.answer is not None:
            return line.answer.encode()
        if line.key in self._acting:
            answer = await asyncio.shield(self._acting[line.key])
            if answer is not None:
                return answer
        raise HostLost(
            f"delivery unknown: the first request with key {line.key!r} was not answered; "
            "look before you ask again with a new key",
            key=line.key,
            delivery="unknown",
        )

    async def _first(self, line: Line, act: Callable[[], Awaitable[bytes]]) -> bytes:
        self._append(line)
        answered = self._acting[line.key] = asyncio.get_running_loop().create_future()
        try:
            answer = await act()
            self._append(Line(key=line.key, digest=line.digest, answer=answer.decode()))
            answered.set_result(answer)
        finally:
            del self._acting[line.key]
            if not answered.done():  # not cancelled: that would cancel the callers that wait
                answered.set_result(None)
        self._forget_oldest()
        return answer

    def _forget_oldest(self) -> None:
        """Keep the newest keys, and those whose request still acts; rewrite the file rarely."""
        for key in [key for key in self._lines if key not in self._acting]:
            if len(self._lines) <= _MOST_KEYS:
                break
            del self._lines[key]
            self._surplus += 1
        if self._surplus >= _MOST_KEYS:
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
        self._lines[line.key] = line

    def _load(self) -> None:
        try:
            with open(self._path, "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return
        for raw in lines[:-1]:  # the last is empty, or was cut off by a crash
            line = msgspec.json.decode(raw, type=Line)
            self._lines[line.key] = line
        self._forget_oldest()
        self._rewrite()

    def _rewrite(self) -> None:
        self._surplus = 0
        rewritten = b"".join(msgspec.json.encode(line) + b"\n" for line in self._lines.values())
        atomic.replace(self._path, rewritten, durable=False)
