"""The policy in force: `policy show` and `policy reload`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agent_pty.ops.context import Registry
from agent_pty.ops.op import Mutation, Op, Request


class PolicyShow(Request, frozen=True, kw_only=True):
    """Return which policy is in force: its file, its digest and what it says about approvals."""


class PolicyReload(Mutation, frozen=True, kw_only=True):
    """Read the policy file again; one with a mistake is refused, and the old one stays in force."""

    path: Annotated[
        str | None, Meta(description="another file, from now on; default: the same one")
    ] = None


class InForce(Struct, frozen=True, kw_only=True):
    """The policy in force; *path* is null if only the built-in rules count."""

    path: str | None
    hash: str
    builtin_rules: bool
    rules: list[str]
    self_approval: bool
    approver: str
    ask_user: bool
    agent_secrets: bool
    guard: str | None = None


class Reloaded(Struct, frozen=True, kw_only=True):
    """The policy that was in force, and the one that is."""

    old_hash: str
    new_hash: str
    path: str | None


async def show(registry: Registry, _request: PolicyShow) -> InForce:
    """Return the policy in force."""
    found: InForce = registry.policy.described()
    return found


async def reload(registry: Registry, request: PolicyReload) -> Reloaded:
    """Replace the policy in force."""
    reloaded: Reloaded = await registry.policy.reload(request.path)
    return reloaded


# On the command line both are words of `agent-pty policy`, which also works without a daemon.
SHOW = Op(name="policy", answer="policy", request=PolicyShow, where="daemon", handler=show)
RELOAD = Op(
    name="policy_reload",
    answer="policy_reloaded",
    request=PolicyReload,
    where="daemon",
    handler=reload,
    audience="operator",
)
