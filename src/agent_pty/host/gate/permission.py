"""What happens when a rule is against something: it is denied, or somebody must approve it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from agent_pty.core.evidence import event as evidence
from agent_pty.core.policy.approval import REQUEST_TTL_MS, Approval, Bound, Place, digest
from agent_pty.core.policy.line_gate import Judgement
from agent_pty.core.policy.verdict import Verdict
from agent_pty.errors import ApprovalRequired, BadRequest, PolicyDenied
from agent_pty.host import events
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.gate.policy_in_force import PolicyInForce
from agent_pty.host.gate.presented import presented
from agent_pty.host.principal import SYSTEM, Principal
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.ops.approval import Granted
from agent_pty.ops.gated import WAITING
from agent_pty.store.approvals import Approvals, Subject

Decision = Literal["approved", "refused", "expired"]


class Permission:
    """The approvals of one session: asked for here, decided by operators, spent once."""

    def __init__(
        self,
        terminal: Terminal,
        recorder: Recorder,
        approvals: Approvals,
        in_force: PolicyInForce,
    ) -> None:
        self._terminal = terminal
        self._recorder = recorder
        self._approvals = approvals
        self._in_force = in_force
        self._waiting: dict[str, asyncio.Event] = {}

    # -- what is asked

    async def require(self, judgement: Judgement, by: Principal, *, line: str) -> None:
        """Return if it was approved; otherwise record the refusal and raise it."""
        verdict = judgement.verdict
        rule = verdict.rule or ""
        if verdict.action == "deny":
            self._note_denied(judgement, by)
            raise PolicyDenied(
                f"{rule} is denied by policy", rule=rule, span=verdict.span, reason=verdict.reason
            )
        subject = self._subject(judgement.command, verdict)
        token = presented.get().token
        spent, why = self._approvals.spend(subject.bound, token=token)
        if spent is not None:
            self._note_approved(spent, subject, by, token=token is not None)
            return
        if token is not None:
            self._note_rejected(subject, why, by)
        asked = self._request(subject, by)
        self._note_denied(judgement, by, request=asked.id)
        raise self._required(asked, subject, line=line, why=why if token is not None else None)

    def _required(
        self, asked: Approval, subject: Subject, *, line: str, why: str | None
    ) -> ApprovalRequired:
        name = self._terminal.name
        token = {} if why is None else {"token": why}
        rejected = "" if why is None else f"the token does not count ({why}): "
        return ApprovalRequired(
            f"{asked.rule} requires approval before it can be sent to the PTY",
            rule=asked.rule,
            span=subject.span,
            reason=subject.reason,
            request=asked.id,
            line=line,
            id=name,
            remedy=f"{rejected}an operator approves it with `agent-pty approve --request "
            f"{asked.id}`; then send the same again, or wait for the answer with {WAITING}",
            **token,
        )

    def _request(
        self, subject: Subject, by: Principal, *, ttl_ms: int = REQUEST_TTL_MS
    ) -> Approval:
        known = {one.id for one in self._approvals.pending()}
        asked = self._approvals.request(subject, msgspec.to_builtins(by), ttl_ms=ttl_ms)
        if asked.id not in known:
            self._recorder.note(
                evidence.PolicyApprovalRequested(
                    command=asked.command,
                    rule=asked.rule,
                    approval_id=asked.id,
                    expires_at=asked.expires_at,
                    policy_hash=asked.bound.policy_hash,
                ),
                by,
            )
            self._terminal.events.publish(
                events.ApprovalRequested(
                    cursor=self._terminal.output.cursor,
                    by=by,
                    request=asked.id,
                    rule=asked.rule,
                    command=asked.command,
                    cwd=asked.bound.place.path,
                )
            )
        return asked

    # -- execs that are held

    def ask_exec(self, command: str, verdict: Verdict, *, cwd: str | None, pid: int) -> Approval:
        """Ask for an exec of a process; the same one is asked about once, also by the next host."""
        bound = Bound(
            sha256=digest(f"{pid} {command}"),
            rule=verdict.rule or "",
            policy_hash=self._in_force.policy.digest,
            place=_place(cwd),
        )
        for one in self._approvals.pending():
            if one.gate == "guard" and one.bound == bound:
                return one
        subject = Subject(
            command=self._recorder.clean(command),
            reason=None if verdict.reason is None else self._recorder.clean(verdict.reason),
            span=None,
            bound=bound,
            gate="guard",
        )
        return self._request(subject, SYSTEM, ttl_ms=self._in_force.policy.file.held * 1000)

    async def exec_decided(self, asked: Approval) -> Decision:
        """Return what an operator says of an exec; an approval of it is spent by that."""
        decision = await self.decided(asked.id, self._in_force.policy.file.held)
        if decision == "approved":
            spent, _ = self._approvals.spend(asked.bound, token=None)
            decision = "expired" if spent is None else decision
        return decision

    def withdraw(self, asked: Approval) -> None:
        """Nobody waits for the answer to a request any more."""
        if self._approvals.find(asked.id).state == "pending":
            self._tell(self._approvals.deny(asked.id, None), SYSTEM)

    async def decided(self, request: str, patience: float) -> Decision:
        """Return what an operator says of a request, at the latest after *patience* seconds."""
        waiting = self._waiting.setdefault(request, asyncio.Event())
        try:
            async with asyncio.timeout(patience):
                while self._approvals.find(request).state == "pending":
                    waiting.clear()
                    await waiting.wait()
        except TimeoutError:
            return "expired"
        return "refused" if self._approvals.find(request).state == "denied" else "approved"

    # -- what operators decide

    def pending(self) -> list[Approval]:
        """Return the requests that wait for an operator."""
        return self._approvals.pending()

    def approve(
        self, judgement: Judgement, by: Principal, *, rule: str | None, ttl_ms: int
    ) -> Granted:
        """Approve a command before it is sent; refuse what needs no approval, or can have none."""
        verdict = judgement.verdict
        if verdict.action == "allow":
            raise BadRequest("command does not match a policy rule requiring approval")
        if verdict.action == "deny":
            raise PolicyDenied(
                f"{verdict.rule} is denied by policy and cannot be approved", rule=verdict.rule
            )
        if rule is not None and rule != verdict.rule:
            raise BadRequest(
                f'approval rule "{rule}" does not match command policy "{verdict.rule}"',
                field="rule",
            )
        subject = self._subject(judgement.command, verdict)
        made, token = self._approvals.grant_new(subject, msgspec.to_builtins(by), ttl_ms=ttl_ms)
        self._note_created(made, by)
        return granted(made, token)

    def grant(self, request: str, by: Principal) -> Granted:
        """Approve what somebody asked for; whoever waits for it goes on."""
        made, token = self._approvals.grant(request, msgspec.to_builtins(by))
        self._note_created(made, by)
        self._tell(made, by)
        return granted(made, token)

    def deny(self, request: str, by: Principal) -> Approval:
        """Say no to what somebody asked for."""
        denied = self._approvals.deny(request, msgspec.to_builtins(by))
        self._recorder.note(
            evidence.PolicyApprovalDenied(
                command=denied.command,
                rule=denied.rule,
                approval_id=denied.id,
                approver=denied.approver,
                reason="an operator said no",
            ),
            by,
        )
        self._tell(denied, by)
        return denied

    def _tell(self, decided: Approval, by: Principal) -> None:
        if decided.id in self._waiting:
            self._waiting.pop(decided.id).set()
        self._terminal.events.publish(
            events.ApprovalDecided(
                cursor=self._terminal.output.cursor,
                by=by,
                request=decided.id,
                rule=decided.rule,
                approved=decided.state == "granted",
            )
        )

    # -- what is recorded

    def _subject(self, command: str, verdict: Verdict) -> Subject:
        bound = Bound(
            sha256=digest(command),
            rule=verdict.rule or "",
            policy_hash=self._in_force.policy.digest,
            place=_place(self._terminal.cwd()),
        )
        return Subject(
            command=self._recorder.clean(command),
            reason=None if verdict.reason is None else self._recorder.clean(verdict.reason),
            span=verdict.span,
            bound=bound,
        )

    def _note_denied(
        self, judgement: Judgement, by: Principal, *, request: str | None = None
    ) -> None:
        verdict = judgement.verdict
        self._recorder.note(
            evidence.PolicyDenied(
                command=self._recorder.clean(judgement.command),
                rule=verdict.rule or "",
                span=None if verdict.span is None else list(verdict.span),
                reason=None if verdict.reason is None else self._recorder.clean(verdict.reason),
                policy_hash=self._in_force.policy.digest,
                gate="line",
                request=request,
            ),
            by,
        )

    def _note_approved(
        self, spent: Approval, subject: Subject, by: Principal, *, token: bool
    ) -> None:
        self._recorder.note(
            evidence.PolicyApproved(
                command=subject.command,
                rule=spent.rule,
                approval_id=spent.id,
                span=None if subject.span is None else list(subject.span),
                approver=spent.approver,
                policy_hash=spent.bound.policy_hash,
                how="token" if token else _way(spent.approver or {}),
                cwd=spent.bound.place.path,
                sha256=spent.bound.sha256,
            ),
            by,
        )

    def _note_rejected(self, subject: Subject, why: str, by: Principal) -> None:
        self._recorder.note(
            evidence.PolicyApprovalDenied(
                command=subject.command,
                rule=subject.bound.rule,
                approval_id=None,
                approver=None,
                reason=f"a token was not accepted: {why}",
            ),
            by,
        )

    def _note_created(self, made: Approval, by: Principal) -> None:
        self._recorder.note(
            evidence.PolicyApprovalCreated(
                command=made.command,
                rule=made.rule,
                approval_id=made.id,
                expires_at=made.expires_at,
                approver=made.approver or {},
                policy_hash=made.bound.policy_hash,
                self_approval=self._in_force.policy.file.self_approval,
            ),
            by,
        )


def granted(made: Approval, token: str) -> Granted:
    """Return an approval as its owner gets it."""
    return Granted(
        id=made.id,
        token=token,
        session_id=made.session_id,
        command=made.command,
        rule=made.rule,
        created_at=made.created_at,
        expires_at=made.expires_at,
    )


def _way(approver: Mapping[str, Any]) -> Literal["request", "attach", "user"]:
    """Return in which way a request was approved."""
    if approver.get("terminal"):
        return "attach"
    by_user = approver.get("kind") == "human" and approver.get("transport") == "mcp"
    return "user" if by_user else "request"


def _place(path: str | None) -> Place:
    """Return a directory as approvals are bound to it: another one of its name is another one."""
    if path is None:
        return Place(path=None)
    try:
        found = os.stat(path)
    except OSError:
        return Place(path=path)
    return Place(path=os.path.realpath(path), inode=f"{found.st_dev}:{found.st_ino}")
