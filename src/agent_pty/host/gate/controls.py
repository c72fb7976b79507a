"""What the daemon asks of the gates of a host: the policy in force, approvals, secrets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agent_pty.core.evidence.event import PolicyApprovalDenied, PolicyReloaded
from agent_pty.core.policy.approval import Approval
from agent_pty.core.policy.policy_file import BUILT_IN, parsed_policy
from agent_pty.errors import NotWaiting
from agent_pty.host import message
from agent_pty.host.gate.policy_in_force import PolicyInForce
from agent_pty.host.message import AnyControl
from agent_pty.host.principal import SYSTEM
from agent_pty.host.session import Sessions
from agent_pty.ops.approval import Denied, Granted, Pending
from agent_pty.ops.secret import Entered


class GateControls:
    """Answers for the sessions of one host."""

    def __init__(self, sessions: Sessions, in_force: PolicyInForce) -> None:
        self._sessions = sessions
        self._in_force = in_force
        self.handlers: dict[type[AnyControl], Callable[[Any], Awaitable[Any]]] = {
            message.UsePolicy: self._use_policy,
            message.Approve: self._approve,
            message.Grant: self._grant,
            message.Deny: self._deny,
            message.PendingApprovals: self._pending,
            message.RefusedOperator: self._refused_operator,
            message.EnterSecret: self._enter_secret,
        }

    async def _use_policy(self, asked: message.UsePolicy) -> None:
        policy = BUILT_IN
        if asked.text is not None:
            policy = parsed_policy(asked.text.encode(), path=asked.path)
        if policy.digest == self._in_force.policy.digest:
            return
        before = self._in_force.replace(policy)
        for session in self._sessions.values():
            session.recorder.note(PolicyReloaded(old_hash=before, new_hash=policy.digest), SYSTEM)

    async def _approve(self, asked: message.Approve) -> Granted:
        session = self._sessions.find(asked.instance)
        judgement = session.gate.judge_command(asked.command)
        return session.permission.approve(judgement, asked.by, rule=asked.rule, ttl_ms=asked.ttl_ms)

    async def _grant(self, asked: message.Grant) -> Granted:
        return self._sessions.find(asked.instance).permission.grant(asked.request, asked.by)

    async def _deny(self, asked: message.Deny) -> Denied:
        denied = self._sessions.find(asked.instance).permission.deny(asked.request, asked.by)
        return Denied(
            id=denied.id, session_id=denied.session_id, command=denied.command, rule=denied.rule
        )

    async def _pending(self, _asked: message.PendingApprovals) -> list[Pending]:
        found = [one for each in self._sessions.values() for one in each.permission.pending()]
        return [described(one) for one in found]

    async def _refused_operator(self, asked: message.RefusedOperator) -> None:
        self._sessions.find(asked.instance).recorder.note(
            PolicyApprovalDenied(
                command=asked.op,
                rule="operator only",
                approval_id=None,
                approver=None,
                reason="it was asked for inside of this session",
            ),
            asked.by,
        )

    async def _enter_secret(self, asked: message.EnterSecret) -> Entered:
        session = self._sessions.find(asked.instance)
        if not session.gate.asks_secret():
            name = session.spec.name
            raise NotWaiting(f"session {name} does not ask for a secret: its terminal shows input")
        data = asked.value.encode()
        await session.input.enter_secret(data, by=asked.by)
        return Entered(id=session.spec.name, bytes=len(data))


def described(one: Approval) -> Pending:
    """Return a request as operators see it."""
    return Pending(
        id=one.id,
        session_id=one.session_id,
        command=one.command,
        rule=one.rule,
        reason=one.reason,
        gate=one.gate,
        cwd=one.bound.place.path,
        created_at=one.created_at,
        expires_at=one.expires_at,
        requested_by=one.requested_by,
    )
