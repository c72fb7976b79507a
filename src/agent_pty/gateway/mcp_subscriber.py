"""MCP clients that are told of changes by notifications, as before protocol 2026-07-28."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any
from weakref import WeakKeyDictionary

import anyio
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp.shared.subscriptions import event_to_notification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agent_pty.gateway.session_changes import SessionChanges

_Context = ServerRequestContext[Any]


class Subscribers:
    """Who is told what, by connection; what a connection had is gone with it."""

    def __init__(self, changes: SessionChanges) -> None:
        self._changes = changes
        self._told: WeakKeyDictionary[Connection, _Subscriber] = WeakKeyDictionary()

    async def add(self, context: _Context, uri: str) -> None:
        """Tell this client when a resource changes."""
        (await self._subscriber(context)).want(ResourceUpdated(uri))

    async def wants_list(self, context: _Context) -> None:
        """Tell a client that has seen the list when there is another."""
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:  # those listen, or do not
            (await self._subscriber(context)).want(ResourcesListChanged())

    def remove(self, context: _Context, uri: str) -> None:
        """Tell it no more."""
        subscriber = self._told.get(_connection(context))
        if subscriber is not None:
            subscriber.forget(ResourceUpdated(uri))

    async def _subscriber(self, context: _Context) -> _Subscriber:
        await self._changes.ready()
        connection = _connection(context)
        if connection not in self._told:
            subscriber = self._told[connection] = _Subscriber(context.session)
            connection.exit_stack.push_async_callback(subscriber.close)
            connection.exit_stack.callback(self._changes.subscribe(subscriber.hear))
        return self._told[connection]


def _connection(context: _Context) -> Connection:
    """Return the connection of a request: it outlives the request, and knows its own end."""
    return context.session._connection  # noqa: SLF001  the SDK has no other way to its exit_stack


class _Subscriber:
    """One connection. Changes that it has not been told yet are remembered once."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._wanted: set[ServerEvent] = set()
        self._untold: dict[ServerEvent, None] = {}
        self._changed = asyncio.Event()
        self._telling = asyncio.get_running_loop().create_task(self._tell())

    def want(self, event: ServerEvent) -> None:
        """Tell it of this from now on."""
        self._wanted.add(event)

    def forget(self, event: ServerEvent) -> None:
        """Tell it no more of this."""
        self._wanted.discard(event)
        self._untold.pop(event, None)

    def hear(self, event: ServerEvent) -> None:
        """Something changed."""
        if event in self._wanted:
            self._untold[event] = None
            self._changed.set()

    async def _tell(self) -> None:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it left
            while True:
                await self._changed.wait()
                self._changed.clear()
                while self._untold:
                    event = next(iter(self._untold))
                    del self._untold[event]
                    await self._session.send_notification(event_to_notification(event, {}))

    async def close(self) -> None:
        """Tell nothing more."""
        self._telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._telling
