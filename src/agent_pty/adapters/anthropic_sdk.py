"""The six `pty_*` tools for the Anthropic SDK: for its tool runner, and for a loop of your own.

client.beta.messages.tool_runner(tools=runnable_tools(), ...)
"""

from __future__ import annotations

from typing import Any

from agent_pty.adapters.missing import missing
from agent_pty.tools import ToolBox, default_box, definitions

try:
    from anthropic import beta_async_tool, beta_tool
    from anthropic.lib.tools import BetaAsyncFunctionTool, BetaFunctionTool, ToolError
    from anthropic.types import Message, ToolResultBlockParam, ToolUseBlock
    from anthropic.types.beta import BetaMessage, BetaToolUseBlock
except ImportError as error:
    raise missing("anthropic", error) from None

__all__ = ["async_runnable_tools", "run_tools", "runnable_tools"]


def runnable_tools(box: ToolBox | None = None) -> list[BetaFunctionTool[Any]]:
    """Return the six for `Anthropic().beta.messages.tool_runner`."""
    used = default_box() if box is None else box
    return [_tool(used, one) for one in definitions("anthropic")]


def async_runnable_tools(box: ToolBox | None = None) -> list[BetaAsyncFunctionTool[Any]]:
    """Return the six for `AsyncAnthropic().beta.messages.tool_runner`.

    A run that is cancelled does not wait for its tools; their programs go on as sessions.
    """
    used = default_box() if box is None else box
    return [_async_tool(used, one) for one in definitions("anthropic")]


def run_tools(
    message: Message | BetaMessage, box: ToolBox | None = None
) -> list[ToolResultBlockParam]:
    """Answer every tool call of a message: the content of the next message of the user.

    The list is empty if the model called none. Calls of a message that was cut off may be cut off
    themselves: they are not carried out, and the answer says so.
    """
    used = default_box() if box is None else box
    calls = [one for one in message.content if isinstance(one, ToolUseBlock | BetaToolUseBlock)]
    if message.stop_reason != "tool_use":
        why = f"not carried out: the message ended with {message.stop_reason}; call again"
        return [_answer(one.id, why, failed=True) for one in calls]
    return [_answered(used, one) for one in calls]


def _tool(box: ToolBox, definition: dict[str, Any]) -> BetaFunctionTool[Any]:
    def call(**arguments: Any) -> str:
        result = box.result(definition["name"], arguments)
        if result.failed:
            raise ToolError(result.text)
        return result.text

    return beta_tool(call, **definition)


def _async_tool(box: ToolBox, definition: dict[str, Any]) -> BetaAsyncFunctionTool[Any]:
    async def call(**arguments: Any) -> str:
        result = await box.result_async(definition["name"], arguments)
        if result.failed:
            raise ToolError(result.text)
        return result.text

    return beta_async_tool(call, **definition)


def _answered(box: ToolBox, call: ToolUseBlock | BetaToolUseBlock) -> ToolResultBlockParam:
    try:
        result = box.result(call.name, call.input)
    except LookupError as error:  # a tool that is not ours
        return _answer(call.id, str(error), failed=True)
    return _answer(call.id, result.text, failed=result.failed)


def _answer(call: str, text: str, *, failed: bool) -> ToolResultBlockParam:
    return {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
