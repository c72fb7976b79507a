"""Requests that a rule of the policy may stop until somebody approves them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from agent_pty.core.command import duration
from agent_pty.ops.op import Mutation

_DAY_MS = 24 * 3600 * 1000


class Gated(Mutation, frozen=True, kw_only=True):
    """Base of requests whose text is judged."""

    approval: Annotated[str | None, Meta(description="one-time token from `approve`")] = None
    wait_approval_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=_DAY_MS,
            description="milliseconds to wait for an operator's approval, if one is needed",
        ),
    ] = 0


# How a command line waits for an operator.
WAITING = "--wait-approval 5m"
WAIT_APPROVAL = duration(
    "wait_approval_ms", "--wait-approval", note=": wait so long for an approval, if one is needed"
)
