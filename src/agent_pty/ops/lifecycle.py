"""`status` and `shutdown`: the daemon itself."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from agent_pty.ops.context import Registry
from agent_pty.ops.op import Op, Request


class Status(Request, frozen=True, kw_only=True):
    """Tell what the daemon is and holds."""


class Shutdown(Request, frozen=True, kw_only=True):
    """Stop the daemon; its sessions end with it unless they are to be kept."""

    keep: Annotated[bool, Meta(description="leave every session for the next daemon")] = False


async def status(registry: Registry, _request: Status) -> dict[str, Any]:
    """Count and name."""
    return await registry.status()


async def shutdown(registry: Registry, request: Shutdown) -> None:
    """Answer first, then stop."""
    registry.shut_down(keep=request.keep)


STATUS = Op(name="status", answer="status", request=Status, where="daemon", handler=status)
SHUTDOWN = Op(
    name="shutdown", answer="shutdown", request=Shutdown, where="daemon", handler=shutdown
)
