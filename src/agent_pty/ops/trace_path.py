"""`trace_path`: where the trace of every request is written."""

from __future__ import annotations

from agent_pty.core.command import Command
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Op, Request


class TracePath(Request, frozen=True, kw_only=True):
    """Tell which file has the trace: a line about each request, as OpenTelemetry has it."""


async def trace_path(registry: Registry, _request: TracePath) -> str:
    """Return the path."""
    return registry.trace_path


OP = Op(
    name="trace_path",
    answer="trace_path",
    request=TracePath,
    where="daemon",
    handler=trace_path,
    commands=(
        Command(
            name="trace-path",
            text=lambda _call, path: str(path),
            examples=("agent-pty trace-path",),
        ),
    ),
)
