"""The `terminal.*` tools of the seed: one for each op that names its tool."""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any

from agent_pty import ops
from agent_pty.core.safe import safe_json
from agent_pty.ops.op import Op
from agent_pty.ops.schema import request_schema, summary
from agent_pty.words.tools.tool import Tool, ToolOps, ToolResult


@functools.cache
def terminal_tools() -> tuple[Tool, ...]:
    """Return the tools, in the order of the table."""
    return tuple(_tool(op) for op in ops.TABLE.values() if op.tool and op.offered("mcp"))


def _tool(op: Op) -> Tool:
    return Tool(
        name=op.tool or "",
        description=summary(op),
        schema=request_schema(op),
        call=_calling(op),
        hints={"readOnlyHint": not op.mutates, "destructiveHint": op.name == "kill"},
    )


def _calling(op: Op) -> Callable[[ToolOps, dict[str, Any]], Awaitable[ToolResult]]:
    async def call(asked: ToolOps, arguments: dict[str, Any]) -> ToolResult:
        envelope = await asked.envelope(op.name, arguments)
        if not envelope["ok"]:
            told = {key: envelope[key] for key in ("error", "code", "details")}
            return ToolResult(text=_failure(op, envelope), structured=told, failed=True)
        return ToolResult(text=pretty(envelope["data"]), structured=envelope["data"])

    return call


def _failure(op: Op, envelope: dict[str, Any]) -> str:
    """Say what was wrong, and for a wrong call how a right one looks."""
    said = f"{envelope['error']} ({envelope['code']})"
    if envelope["code"] != "bad_request":
        return said
    required = request_schema(op).get("required", [])
    return f"{said}\n{op.tool} needs: {', '.join(required) or 'nothing'}"


def pretty(payload: Any) -> str:
    """Return a payload as people read it, without what a terminal would obey."""
    return safe_json(json.dumps(payload, indent=2, ensure_ascii=False))
