"""`status` and `shutdown`: the daemon itself."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from agent_pty.core.command import Call, Command
from agent_pty.core.status import status_object, status_text
from agent_pty.ops.context import Registry
from agent_pty.ops.model import Stopped
from agent_pty.ops.op import Op, Request


class Status(Request, frozen=True, kw_only=True):
    """Report the state of the daemon: version, sessions, hosts and keeper."""


class Shutdown(Request, frozen=True, kw_only=True):
    """Stop the daemon and end its sessions; with `keep`, the sessions keep running."""

    keep: Annotated[bool, Meta(description="keep every session for the next daemon")] = False
    successor: Annotated[
        bool, Meta(description="another daemon follows at once: clients wait for it")
    ] = False


async def status(registry: Registry, _request: Status) -> dict[str, Any]:
    """Return facts about the daemon."""
    return await registry.status()


async def shutdown(registry: Registry, request: Shutdown) -> Stopped:
    """Stop; answer when every session has ended, or at once if they stay."""
    registry.shut_down(keep=request.keep, successor=request.keep and request.successor)
    return Stopped() if request.keep else await registry.stopped()


async def _print_status(call: Call, facts: dict[str, Any]) -> int:
    """Print the contract's keys first, in their order, ours after them."""
    shown = {**status_object(facts["socket"], error=None), **facts, "running": True}
    await call.show(shown, status_text(facts))
    if facts["keeper_error"]:
        await call.warn(f"warning: {facts['keeper_error']}; `new` fails until there is one")
    return 0


STATUS = Op(
    name="status",
    answer="status",
    request=Status,
    where="daemon",
    handler=status,
    commands=(
        Command(finish=_print_status, examples=("agent-pty status", "agent-pty status --json")),
    ),
)
SHUTDOWN = Op(
    name="shutdown",
    answer="shutdown",
    request=Shutdown,
    where="daemon",
    handler=shutdown,
    traced=False,
    audience="operator",
)
