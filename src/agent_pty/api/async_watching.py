"""Events as they happen, in an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from agent_pty.api.following import Following
from agent_pty.errors import DaemonUnreachable

if TYPE_CHECKING:
    from agent_pty.api.async_client import AsyncClient
    from agent_pty.api.async_connection import AsyncConnection
    from agent_pty.api.results import Event


class AsyncWatching:
    """As `Watching`: no event is missed after `open`. It ends when it is closed."""

    def __init__(self, client: AsyncClient, fields: dict[str, Any]) -> None:
        self._client = client
        self._following = Following(fields)
        self._connection: AsyncConnection | None = None

    async def open(self, *, first: bool = True) -> Self:
        """Begin; `watch` does it."""
        connection = await self._client.connect(start=first)
        try:
            await connection.opened("watch", self._following.fields)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while self._connection is not None:
            line = await self._connection.line()
            if line.endswith(b"\n"):
                return self._following.feed(line)
            missed = await self._again()
            if missed is not None:
                return missed
        raise StopAsyncIteration

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _again(self) -> Event | None:
        """Open the stream of the next daemon."""
        self.close()
        missed = self._following.lost()
        try:
            await self.open(first=False)
        except DaemonUnreachable as error:
            raise self._following.gave_up() from error
        return missed
