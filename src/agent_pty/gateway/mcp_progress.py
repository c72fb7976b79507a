"""Progress of a call that takes long: how long it has taken, and the last line of its session."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

from mcp.server.context import ServerRequestContext

from agent_pty.errors import AgentPtyError
from agent_pty.gateway.tool_ops import GatewayOps

_EVERY_SECONDS = 1.0
_LONGEST_LINE = 120


@contextlib.asynccontextmanager
async def progress(context: ServerRequestContext[Any], asked: GatewayOps) -> AsyncIterator[None]:
    """Report progress until the end of the block, if the client wants to know."""
    if not context.meta or "progress_token" not in context.meta:
        yield
        return
    reporting = asyncio.get_running_loop().create_task(_report(context, asked))
    try:
        yield
    finally:
        reporting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reporting


async def _report(context: ServerRequestContext[Any], asked: GatewayOps) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(_EVERY_SECONDS)
        line = await _last_line(asked)
        await context.session.report_progress(round(time.monotonic() - began, 1), None, line)


async def _last_line(asked: GatewayOps) -> str | None:
    if asked.session is None:
        return None
    try:
        screen = await asked.ask("screen", id=asked.session)
    except AgentPtyError:  # it ended meanwhile; the call's own answer tells
        return None
    lines = [line for line in screen["text"].split("\n") if line.strip()]
    return lines[-1].strip()[:_LONGEST_LINE] if lines else None
