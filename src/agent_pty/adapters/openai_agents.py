"""The six `pty_*` tools for the OpenAI Agents SDK (`openai-agents`).

agent = Agent(name="builder", tools=[*function_tools()])
"""

from __future__ import annotations

import json
from typing import Any

from agent_pty.adapters.missing import missing
from agent_pty.tools import ToolBox, default_box, definitions

try:
    from agents import FunctionTool
    from agents.tool_context import ToolContext
except ImportError as error:
    raise missing("openai-agents", error) from None

__all__ = ["function_tools"]


def function_tools(box: ToolBox | None = None) -> list[FunctionTool]:
    """Return the six as tools of an agent; give each agent a *box* of its own if there are several.

    A run that is cancelled does not wait for its tools; their programs go on as sessions.
    """
    used = default_box() if box is None else box
    return [_tool(used, **one["function"]) for one in definitions("openai")]


def _tool(box: ToolBox, *, name: str, description: str, parameters: dict[str, Any]) -> FunctionTool:
    async def invoke(_context: ToolContext[Any], arguments: str) -> str:
        try:
            given = _decoded(arguments)
        except (TypeError, ValueError) as error:
            return f"the arguments of {name} must be a JSON object: {error}"
        return (await box.result_async(name, given)).text

    return FunctionTool(
        name=name,
        description=description,
        params_json_schema=parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,  # strict schemas have no optional arguments
    )


def _decoded(arguments: str) -> dict[str, Any]:
    """Return what a model wrote; nothing at all means no arguments."""
    given = json.loads(arguments or "{}")
    if not isinstance(given, dict):
        raise TypeError(f"{arguments!r} is none")
    return given
