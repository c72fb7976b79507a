"""Tells MCP clients that a session has changed, while one of them listens.

A change is only a sign: who cares reads again. So many changes of a moment are one sign, and a
client that reads slowly costs nothing but a set of names.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

import msgspec
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent

from agent_pty.gateway.resource_uri import uris_of
from agent_pty.ops.op import encode
from agent_pty.transports.caller import Caller, Handle, Streaming

_COLLECT_SECONDS = 0.25
_AGAIN_SECONDS = 1.0
# What changes a screen or a transcript, and what changes the list of sessions.
_OF_TEXT = ("output", "exited", "lost")
_OF_LIST = ("created", "exited", "lost", "renamed", "killed")
_MISSED = "lagged"

Listener = Callable[[ServerEvent], None]


class _WatchEvent(msgspec.Struct, frozen=True):
    """What matters here of a line of `watch`."""

    event: str
    id: str = ""


class SessionChanges:
    """Follows all sessions by `watch`; a `SubscriptionBus` of the SDK."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._caller = Caller(transport="mcp", uid=os.getuid(), pid=os.getpid())
        self._listeners: dict[object, Listener] = {}
        self._watching: asyncio.Task[None] | None = None
        self._established = asyncio.Event()
        self._waiting = 0
        self._rest = b""
        # In the order in which they changed; a dictionary is a set with an order.
        self._changed: dict[ServerEvent, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def ready(self) -> None:
        """Return when changes from now on are noticed: before that, nobody may rely on it."""
        if self._watching is None:
            self._watching = asyncio.get_running_loop().create_task(self._watch())
        self._waiting += 1
        try:
            await self._established.wait()
        finally:
            self._waiting -= 1

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call *listener* for each change from now on; return what ends that."""
        token = object()
        self._listeners[token] = listener

        def unsubscribe() -> None:
            self._listeners.pop(token, None)
            if not self._listeners and not self._waiting:
                self.close()

        return unsubscribe

    async def publish(self, event: ServerEvent) -> None:
        """Tell everybody who listens."""
        for listener in list(self._listeners.values()):
            listener(event)

    def close(self) -> None:
        """Follow nothing any more."""
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._established.clear()
        self._changed.clear()

    async def _watch(self) -> None:
        """Follow whatever daemon there is."""
        kinds = {"events": [*{*_OF_TEXT, *_OF_LIST}]}
        while True:
            answer = await self._handle(encode("watch", kinds), self._caller)
            if isinstance(answer, Streaming):
                self._rest = b""
                if self._established.is_set():  # what was missed meanwhile is unknown
                    await self._note_everything()
                self._established.set()
                with contextlib.suppress(ConnectionError):
                    await answer.pour(self._hear)
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _hear(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            event = msgspec.json.decode(line, type=_WatchEvent)
            if event.event == _MISSED:
                await self._note_everything()
            else:
                self._note(event)

    def _note(self, event: _WatchEvent) -> None:
        if event.event in _OF_LIST:
            self._changed[ResourcesListChanged()] = None
        if event.event in _OF_TEXT:
            self._changed |= dict.fromkeys(map(ResourceUpdated, uris_of(event.id)))
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_COLLECT_SECONDS, self._tell)

    async def _note_everything(self) -> None:
        answer = await self._handle(encode("list", {}), self._caller)
        if isinstance(answer, bytes):
            data = msgspec.json.decode(answer).get("data") or {}
            for one in data.get("data", []):
                self._note(_WatchEvent(event="output", id=one["id"]))
        self._note(_WatchEvent(event="created"))

    def _tell(self) -> None:
        self._timer = None
        changed, self._changed = self._changed, {}
        for event in changed:
            for listener in list(self._listeners.values()):
                listener(event)
