"""The ways to ask for an op: each takes an op with its fields and gives the envelope."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import mcp
from anyio.from_thread import start_blocking_portal
from websockets.sync.client import connect

from agent_pty import Client, ops
from support.agent import AGENT_PTY, Agent
from support.http import Http
from support.raw_socket import exchange

Envelope = dict[str, Any]
Ask = Callable[[str, dict[str, Any]], Envelope]
SURFACES = ("socket", "http", "websocket", "mcp stdio", "mcp http", "python")
_SECONDS = 100


def offers(surface: str, name: str) -> bool:
    """Whether an op can be asked for by a surface; MCP offers those that name their tool."""
    op = ops.TABLE[name]
    if surface.startswith("mcp"):
        return op.tool is not None and op.offered("mcp")
    if surface in {"http", "websocket"}:
        return op.offered("http")
    return op.offered("python" if surface == "python" else "socket")


@contextlib.contextmanager
def opened(agent: Agent, http: Http) -> Iterator[dict[str, Ask]]:
    """Open every surface of one daemon."""
    stdio = mcp.StdioServerParameters(command=AGENT_PTY, args=["mcp-stdio"], env=agent.env)
    with (
        _by_tools(stdio) as over_stdio,
        _by_tools(f"{http.url}/mcp") as over_http,
        Client(home=agent.home, start=False) as python,
    ):
        yield {
            "socket": lambda op, fields: exchange(agent, _body(op, fields)),
            "http": lambda op, fields: http.send(body=_body(op, fields)).envelope,
            "websocket": lambda op, fields: over_websocket(http, op, fields),
            "mcp stdio": over_stdio,
            "mcp http": over_http,
            "python": lambda op, fields: python.envelope(op, **fields),
        }


def over_websocket(http: Http, op: str, fields: dict[str, Any]) -> Envelope:
    """Ask on a connection of its own; a stream is closed after its head."""
    with connect(f"ws://{http.host}/stream") as socket:
        socket.send(_body(op, fields))
        envelope: Envelope = json.loads(socket.recv(timeout=_SECONDS))
        return envelope


@contextlib.contextmanager
def _by_tools(server: Any) -> Iterator[Ask]:
    """Connect the SDK's client; what a tool returns as a value is put into an envelope."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(mcp.Client(server)) as client,
    ):

        async def call(op: str, fields: dict[str, Any]) -> Envelope:
            async with asyncio.timeout(_SECONDS):
                result = await client.call_tool(str(ops.TABLE[op].tool), fields)
            if result.is_error:
                return {"ok": False, "data": None, **result.structured_content}
            return {"ok": True, "data": result.structured_content, "error": None}

        yield lambda op, fields: portal.call(call, op, fields)


def _body(op: str, fields: dict[str, Any]) -> bytes:
    return json.dumps({"op": op, **fields}).encode()
