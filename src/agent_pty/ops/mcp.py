"""`mcp`: the connection of a client that speaks MCP, over the wire of `agent-pty mcp-stdio`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from agent_pty.ops.context import Registry
from agent_pty.ops.environment import Environment
from agent_pty.ops.op import Op, Request

Tools = Literal["terminal", "pty", "all"]


class Mcp(Request, frozen=True, kw_only=True):
    """Speak MCP on this connection from now on: one JSON-RPC message per line."""

    tools: Annotated[Tools, Meta(description="which tools are offered")] = "all"
    client: Annotated[
        str, Meta(description="names the client: what it asks for again is done only once")
    ] = ""
    cwd: Annotated[str, Meta(description="where programs start by default")] = ""
    environment: Environment = None


async def mcp(registry: Registry, request: Mcp) -> Any:
    """Return what gives the connection away."""
    return await registry.mcp(request)


OP = Op(
    name="mcp",
    answer="mcp",
    request=Mcp,
    where="daemon",
    handler=mcp,
    stream=True,
    surfaces=frozenset({"socket"}),
)
