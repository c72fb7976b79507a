"""A session live, in an event loop."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from agent_pty.errors import AgentPtyError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agent_pty.api.async_client import AsyncClient
    from agent_pty.api.async_connection import AsyncConnection

# Streams that end before anything was seen of them.
_MOST_FAILURES = 10


class AsyncAttachment:
    """As `Attachment`: iterate over what the terminal shows, until the session ends."""

    def __init__(self, client: AsyncClient, fields: dict[str, Any]) -> None:
        self._client = client
        self._fields = {name: value for name, value in fields.items() if value is not None}
        self._fields["viewer"] = os.urandom(8).hex()
        self._connection: AsyncConnection | None = None
        self._sent = 0
        self._failures = 0
        self.lost = 0

    async def open(self, *, first: bool = True) -> Self:
        """Attach; the op of that name does it."""
        connection = await self._client.connect(start=first)
        try:
            answer = await connection.opened("attach", self._fields)
        except BaseException:
            connection.close()
            raise
        arrived = (answer or {}).get("typed", 0)
        self.lost += max(0, self._sent - arrived)
        self._sent = arrived
        self._connection = connection
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._connection is not None:
            data = await self._connection.chunk()
            if data:
                self._failures = 0
                yield data
            elif not await self._again():
                return

    async def send(self, data: bytes | str) -> None:
        """Type, as it is: Enter is a carriage return."""
        typed = data.encode() if isinstance(data, str) else data
        self._sent += len(typed)
        if self._connection is not None:
            await self._connection.send(typed)

    def close(self) -> None:
        """Detach."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _again(self) -> bool:
        """Attach again if the session still runs; False if it was the session that ended."""
        self.close()
        self._failures += 1
        if self._failures > _MOST_FAILURES:
            return False
        self._fields["repaint"] = True
        try:
            if not await self._runs():
                return False
            await self.open(first=False)
        except AgentPtyError:  # the daemon was stopped, and with it the session
            return False
        return True

    async def _runs(self) -> bool:
        # Not started here: a daemon that was stopped shall stay so.
        connection = await self._client.connect(start=False)
        try:
            sessions = await connection.opened("list", {})
        finally:
            connection.close()
        return any(one.id == self._fields["id"] and one.active for one in sessions)
