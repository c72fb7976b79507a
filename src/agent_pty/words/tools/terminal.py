"""The `terminal.*` tools of the seed: one for each op that names its tool."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from agent_pty import ops
from agent_pty.core.safe import safe_json
from agent_pty.errors import AgentPtyError, Refused, from_wire
from agent_pty.ops.op import Op
from agent_pty.ops.schema import request_schema, summary
from agent_pty.words.tools.refusal import refusal_text
from agent_pty.words.tools.screen_image import ARGUMENT, screen_image
from agent_pty.words.tools.tool import Tool, ToolOps, ToolResult


def terminal_tools(environment: dict[str, str] | None) -> tuple[Tool, ...]:
    """Return the tools, in the order of the table, for a client with this *environment*."""
    found = [op for op in ops.TABLE.values() if op.tool and op.offered("mcp")]
    return tuple(_tool(op, environment) for op in found)


def _tool(op: Op, environment: dict[str, str] | None) -> Tool:
    return Tool(
        name=op.tool or "",
        description=summary(op),
        schema=_schema(op),
        call=_calling(op, _defaults(op, environment)),
        hints={"readOnlyHint": not op.mutates, "destructiveHint": op.name == "kill"},
    )


def _schema(op: Op) -> dict[str, Any]:
    schema = request_schema(op)
    properties = {name: _without_null(one) for name, one in schema["properties"].items()}
    return {**schema, "properties": {**properties, **(ARGUMENT if op.answer == "screen" else {})}}


def _without_null(one: dict[str, Any]) -> dict[str, Any]:
    """Leave out that an argument may also be null: clients take a plain type at its word."""
    kinds = [kind for kind in one.get("anyOf", ()) if kind.get("type") != "null"]
    rest = {key: value for key, value in one.items() if key != "anyOf" and value is not None}
    if len(kinds) == 1:
        return {**kinds[0], **rest}
    return {**rest, "anyOf": kinds} if kinds else one


def _defaults(op: Op, environment: dict[str, str] | None) -> dict[str, Any]:
    """Return what a program that a client starts gets: its environment, and no pager."""
    wanted = {"pager": False, "environment": environment}
    return {name: value for name, value in wanted.items() if name in op.request.__struct_fields__}


def _calling(
    op: Op, defaults: dict[str, Any]
) -> Callable[[ToolOps, dict[str, Any]], Awaitable[ToolResult]]:
    async def call(asked: ToolOps, arguments: dict[str, Any]) -> ToolResult:
        pictured = arguments.pop("image", False) if op.answer == "screen" else False
        if not isinstance(pictured, bool):
            return ToolResult(text=f"image is true or false, not {pictured!r}", failed=True)
        envelope = await asked.envelope(op.name, {**defaults, **arguments})
        if not envelope["ok"]:
            told = {key: envelope[key] for key in ("error", "code", "details")}
            return ToolResult(text=_failure(op, envelope), structured=told, failed=True)
        try:
            image = await screen_image(asked, arguments["id"]) if pictured else None
        except AgentPtyError as error:
            return ToolResult(text=f"{error} ({error.code})", failed=True)
        text = pretty(envelope["data"])
        return ToolResult(text=text, structured=envelope["data"], image=image)

    return call


def _failure(op: Op, envelope: dict[str, Any]) -> str:
    """Say what was wrong, and for a wrong call how a right one looks."""
    error = from_wire(envelope["code"], envelope["error"], envelope["details"])
    if isinstance(error, Refused):
        return f"{refusal_text(error)} ({error.code})"
    said = f"{error} ({error.code})"
    if error.code != "bad_request":
        return said
    required = request_schema(op).get("required", [])
    return f"{said}\n{op.tool} needs: {', '.join(required) or 'nothing'}"


def pretty(payload: Any) -> str:
    """Return a payload as people read it, without what a terminal would obey."""
    return safe_json(json.dumps(payload, indent=2, ensure_ascii=False))
