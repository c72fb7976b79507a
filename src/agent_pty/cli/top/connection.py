"""A connection to the daemon in an event loop, for a command that must not block."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from agent_pty.client.connection import PROTOCOL
from agent_pty.errors import DaemonUnreachable, unwrapped

_LONGEST_ANSWER = 64 * 1024 * 1024


class Link:
    """Carries one request at a time, or one stream; connects on first use and after a loss."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._ends: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._ends is not None:
            self._ends[1].close()
            self._ends = None

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return the content of the answer, or raise the error it carries."""
        answered = False
        try:
            envelope = json.loads(await self._answer(op, fields))
            answered = True
        finally:
            if not answered:  # abandoned: a late answer must not be taken for the next one
                self.close()
        return unwrapped(envelope).get("data")

    async def events(self, **fields: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield events; raise when the daemon is gone."""
        await self.ask("watch", **fields)
        while True:
            yield json.loads(await self._line())

    async def _answer(self, op: str, fields: dict[str, Any]) -> bytes:
        request = json.dumps({"op": op, **fields, "v": PROTOCOL}).encode() + b"\n"
        if self._ends is None:
            try:
                self._ends = await asyncio.open_unix_connection(self._path, limit=_LONGEST_ANSWER)
            except OSError as error:
                raise DaemonUnreachable(f"connect to {self._path}: {error.strerror}") from error
        with contextlib.suppress(OSError):  # an answer that came before says more than this error
            self._ends[1].write(request)
        return await self._line()

    async def _line(self) -> bytes:
        assert self._ends is not None  # noqa: S101  for the type checker
        try:
            line = await self._ends[0].readline()
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            self.close()
            raise DaemonUnreachable("the daemon closed the connection")
        return line
