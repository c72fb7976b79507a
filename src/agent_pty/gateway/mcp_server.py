"""The MCP server of one client, by the official SDK: tools and resources, in that client's name."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions

from agent_pty import __version__
from agent_pty.core.deception import visible
from agent_pty.gateway.mcp_progress import progress
from agent_pty.gateway.mcp_resources import Resources
from agent_pty.gateway.person import AnswerNeeded, Person
from agent_pty.gateway.session_changes import SessionChanges
from agent_pty.gateway.tool_ops import GatewayOps
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


def tools_named(which: str, client: PtyClient) -> Sequence[Tool]:
    """Return the tools of a choice: `terminal`, `pty` or `all`."""
    terminal = terminal_tools(client.environment) if which in {"terminal", "all"} else ()
    return (*terminal, *pty_tools(client)) if which in {"pty", "all"} else terminal


class _Server(Server[Any]):
    """Tells every client that the list of sessions changes: the SDK asks nobody about that."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what `initialize` answers."""
        options = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


class _Client:
    """What one client is served: in whose name, and by which tools."""

    def __init__(
        self, handle: Handle, caller_of: CallerOf, tools: Sequence[Tool], name: str
    ) -> None:
        self._handle = handle
        self._caller_of = caller_of
        self._tools = {tool.name: tool for tool in tools}
        self._name = name

    def ops_of(
        self, context: ServerRequestContext[Any], answers: types.InputResponses | None = None
    ) -> GatewayOps:
        """Return how a request asks for ops."""
        request = f"{self._name}-{context.request_id}" if self._name else ""
        person = Person(context, answers)
        caller, client = self._caller_of(context), _session(context)
        traceparent = (context.meta or {}).get("traceparent")
        return GatewayOps(
            self._handle, caller, person, request, client=client, traceparent=traceparent
        )

    async def list_tools(
        self, _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Describe the tools."""
        return types.ListToolsResult(tools=[_described(tool) for tool in self._tools.values()])

    async def call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call one; what went wrong is a result, from which a model learns."""
        tool = self._tools.get(params.name)
        if tool is None:
            known = ", ".join(self._tools)
            text = f"unknown MCP tool {params.name[:64]}: one of {known}"
            return _result(ToolResult(text=text, failed=True))
        asked = self.ops_of(context, params.input_responses)
        try:
            await asked.take_answers()
            async with progress(context, asked):
                return _result(await tool.call(asked, dict(params.arguments or {})))
        except AnswerNeeded as needed:
            return needed.result


def mcp_server(
    handle: Handle,
    caller_of: CallerOf,
    which: str,
    pty: PtyClient,
    *,
    changes: SessionChanges,
    client: str = "",
) -> Server[Any]:
    """Return a server; *client* names its only client across gateways, if it has a name."""
    served = _Client(handle, caller_of, tools_named(which, pty), client)
    resources = Resources(served.ops_of, changes)
    return _Server(
        "agent-pty",
        version=__version__,
        instructions=_INSTRUCTIONS + _chosen(which),
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.read,
        on_subscribe_resource=resources.subscribe,
        on_unsubscribe_resource=resources.unsubscribe,
        on_subscriptions_listen=resources.listen,
    )


def _session(context: ServerRequestContext[Any]) -> str:
    """Return which client over HTTP it is; those of the newest protocol do not say."""
    return str(context.request.headers.get("mcp-session-id", "")) if context.request else ""


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
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=visible(result.text))]
    if result.image is not None:
        content.append(types.ImageContent(type="image", data=result.image, mime_type="image/png"))
    return types.CallToolResult(
        content=content,
        structured_content=structured,
        is_error=result.failed,
    )
