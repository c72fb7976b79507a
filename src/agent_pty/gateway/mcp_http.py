"""MCP over HTTP, at `/mcp`: the same tools, for clients that are no child of ours."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from starlette.types import Receive, Scope, Send

from agent_pty.ops.op import LARGEST_REQUEST
from agent_pty.transports.caller import Caller, Handle
from agent_pty.words.tools.pty_client import PtyClient


class McpOverHttp:
    """The application behind `/mcp`; the SDK is imported when the first client comes."""

    def __init__(self, handle: Handle, pty: PtyClient, changes: Callable[[], Any]) -> None:
        self._handle = handle
        self._pty = pty
        self._changes = changes
        self._manager: Any = None
        self._running: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        async with self._starting:
            if self._manager is None:
                self._manager = await self._start()
        await self._manager.handle_request(scope, receive, send)

    async def _start(self) -> Any:
        from mcp.server.streamable_http_manager import (  # noqa: PLC0415  a second to import
            StreamableHTTPSessionManager,
        )

        from agent_pty.gateway.mcp_server import mcp_server  # noqa: PLC0415

        server = mcp_server(self._handle, _caller, "all", self._pty, changes=self._changes())
        manager = StreamableHTTPSessionManager(server, max_request_body_size=LARGEST_REQUEST)
        started = asyncio.Event()

        async def run() -> None:
            async with manager.run():
                started.set()
                await asyncio.Event().wait()

        self._running = asyncio.get_running_loop().create_task(run())
        await started.wait()
        return manager

    async def close(self) -> None:
        """End every session."""
        if self._running is not None:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running


def _caller(context: Any) -> Caller:
    """Return who sent the HTTP request; who was admitted there acts by MCP."""
    asked: Caller | None = context.request.scope.get("caller") if context.request else None
    uid = asked.uid if asked is not None else None
    return Caller(transport="mcp", uid=uid, pid=None)
