"""The MCP server of one client, by the official SDK: the tools, in the name of that client."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

from agent_pty import __version__, ops
from agent_pty.errors import AgentPtyError, unwrapped
from agent_pty.ops.op import PASSING, encode, failure
from agent_pty.transports.caller import Caller, Handle
from agent_pty.words.tools.pty import pty_tools
from agent_pty.words.tools.pty_client import PtyClient
from agent_pty.words.tools.terminal import terminal_tools
from agent_pty.words.tools.tool import Tool, ToolResult

_INSTRUCTIONS = "Terminal sessions that outlive this connection. "
_PTY_INSTRUCTIONS = (
    "pty_exec runs a program and waits for its end, pty_start starts one that goes on, pty_read "
    "and pty_send talk to it, pty_stop ends it."
)
_TERMINAL_INSTRUCTIONS = (
    "terminal.new starts one, terminal.send types "
    "a line, terminal.wait returns when text, a prompt or the end comes, terminal.screen shows "
    "what a person would see."
)


# Who makes a request.
CallerOf = Callable[[ServerRequestContext[Any]], Caller]


class GatewayOps:
    """Asks for ops in the name of *caller*.

    *request* names the call of a tool: when a client repeats it because a gateway died, its ops
    have the same keys, and nothing is done twice.
    """

    def __init__(self, handle: Handle, caller: Caller, request: str) -> None:
        self._handle = handle
        self._caller = caller
        self._request = request
        self._numbers = itertools.count(1)

    async def envelope(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded envelope, of success or failure."""
        try:
            answer = await self._handle(encode(op, self._keyed(op, fields)), self._caller)
        except AgentPtyError as error:
            answer = failure(error)
        if not isinstance(answer, bytes):
            raise TypeError(f"{op} is a stream")
        decoded: dict[str, Any] = msgspec.json.decode(answer)
        decoded.pop("replayed", None)
        return decoded

    def _keyed(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        if not self._request or fields.get("key") is not None or not ops.find(op).keyed:
            return fields
        return {**fields, "key": f"{PASSING}{self._request}-{number}"}

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return what an op answers, or raise its error."""
        return unwrapped(await self.envelope(op, fields)).get("data")


def tools_named(which: str, client: PtyClient) -> Sequence[Tool]:
    """Return the tools of a choice: `terminal`, `pty` or `all`."""
    terminal = terminal_tools(client.environment) if which in {"terminal", "all"} else ()
    return (*terminal, *pty_tools(client)) if which in {"pty", "all"} else terminal


def mcp_server(
    handle: Handle, caller_of: CallerOf, which: str, pty: PtyClient, *, client: str = ""
) -> Server[Any]:
    """Return a server; *client* names its only client across gateways, if it has a name."""
    offered = {tool.name: tool for tool in tools_named(which, pty)}

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in offered.values()])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = offered.get(params.name)
        if tool is None:
            known = ", ".join(offered)
            text = f"unknown MCP tool {params.name[:64]}: one of {known}"
            return _result(ToolResult(text=text, failed=True))
        request = f"{client}-{context.request_id}" if client else ""
        asked = GatewayOps(handle, caller_of(context), request)
        return _result(await tool.call(asked, dict(params.arguments or {})))

    return Server(
        "agent-pty",
        version=__version__,
        instructions=_INSTRUCTIONS + _chosen(which),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _chosen(which: str) -> str:
    """Describe the tools that a model should begin with."""
    return _TERMINAL_INSTRUCTIONS if which == "terminal" else _PTY_INSTRUCTIONS


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations.model_validate(tool.hints),
    )


def _result(result: ToolResult) -> types.CallToolResult:
    structured = result.structured
    if structured is not None and not isinstance(structured, dict):
        structured = json.loads(json.dumps({"result": structured}))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.text)],
        structured_content=structured,
        is_error=result.failed,
    )
