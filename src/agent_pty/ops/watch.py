"""`watch`: what happens, as it happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from msgspec import Meta

from agent_pty.ops.context import Registry
from agent_pty.ops.op import Op, Request


class Watch(Request, frozen=True, kw_only=True):
    """Follow the events of one session or of all, one JSON object per line."""

    id: Annotated[str | None, Meta(description="one session; all if not given")] = None
    events: Annotated[list[str] | None, Meta(description="only these kinds of event")] = None


async def watch(registry: Registry, request: Watch) -> AsyncIterator[bytes]:
    """Yield one line per event."""
    async for line in registry.watch(name=request.id, kinds=request.events):
        yield line


OP = Op(name="watch", answer="watching", request=Watch, where="daemon", handler=watch, stream=True)
