"""The gate of programs that are to be started: judged before there is a session."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from agent_pty.core.layout import Layout
from agent_pty.core.policy.approval import REQUEST_TTL_MS, Approval, Bound, Place, digest
from agent_pty.core.policy.start import is_suspicious, judged_start, runs_something
from agent_pty.core.redaction.redactor import redacted
from agent_pty.daemon.policy import DaemonPolicy
from agent_pty.errors import ApprovalRequired, PolicyDenied
from agent_pty.host.gate.controls import described
from agent_pty.host.gate.permission import granted
from agent_pty.host.principal import Principal
from agent_pty.ops.approval import Denied, Granted, Pending
from agent_pty.ops.model import Wanted
from agent_pty.ops.permit import Permit, Permitted
from agent_pty.store.approvals import Approvals, Subject

# Ids of requests begin with it, as those of a session do with its instance.
_START = "start"


class StartGate:
    """Judges programs by the policy in force; requests wait here for an operator.

    *publish* tells watchers what is requested and decided.
    """

    def __init__(self, layout: Layout, policy: DaemonPolicy, publish: Callable[..., None]) -> None:
        self._policy = policy
        self._publish = publish
        path = f"{layout.run}/approvals.json"
        self._approvals = Approvals(path, session_id=lambda: _START, instance=_START)
        self._waiting: dict[str, asyncio.Event] = {}

    def check(self, wanted: Wanted, argv: Sequence[str], cwd: str, by: Principal) -> None:
        """Refuse a program by raising, before anything of it exists."""
        policy = self._policy.current
        verdict = judged_start(
            argv, _added(wanted), policy, shell_in=_shell_in(wanted, argv[0], cwd)
        )
        if verdict.action == "allow":
            return
        rule = verdict.rule or ""
        if verdict.action == "deny":
            raise PolicyDenied(f"{rule} is denied by policy", rule=rule, reason=verdict.reason)
        subject = Subject(
            command=redacted(shlex.join(argv), ()),
            reason=verdict.reason,
            span=verdict.span,
            gate="start",
            bound=Bound(
                sha256=digest("\0".join([*argv, *sorted(_assignments(wanted))])),
                rule=rule,
                policy_hash=policy.digest,
                place=Place(path=cwd),
            ),
        )
        self._spend(subject, by, token=wanted.approval)

    def permit(self, asked: Permit, instance: str | None, by: Principal) -> Permitted:
        """Refuse what `[permission]` leaves to a person by raising, until somebody approved it.

        *instance* is that of the session it is for; None: it starts a program.
        """
        policy = self._policy.current
        if instance is None and judged_start(asked.argv, {}, policy).action != "allow":
            return Permitted(approval=None)  # `check` stops it next: one approval is enough
        typed = instance is not None and asked.what == "terminal_start"
        command = "\n".join(asked.argv) if typed else shlex.join(asked.argv)
        subject = Subject(
            command=redacted(command, ()),
            reason=f"[permission] has {asked.what} = ask",
            span=None,
            gate="start",
            session_id=asked.id,
            bound=Bound(
                sha256=digest("\0".join([instance or "", *asked.argv])),
                rule=asked.what,
                policy_hash=policy.digest,
                place=Place(path=asked.cwd),
            ),
        )
        return Permitted(approval=self._spend(subject, by).id)

    def _spend(self, subject: Subject, by: Principal, *, token: str | None = None) -> Approval:
        """Use an approval, or ask for one and refuse by raising."""
        spent, _why = self._approvals.spend(subject.bound, token=token)
        if spent is None:
            raise _required(self._request(subject, msgspec.to_builtins(by)))
        return spent

    def _request(self, subject: Subject, by: dict[str, Any]) -> Approval:
        known = {one.id for one in self._approvals.pending()}
        asked = self._approvals.request(subject, by, ttl_ms=REQUEST_TTL_MS)
        if asked.id not in known:
            facts = {"command": asked.command, "cwd": asked.bound.place.path}
            self._publish_of("approval_requested", asked, by, **facts)
        return asked

    def _publish_of(self, event: str, about: Approval, by: dict[str, Any], **facts: Any) -> None:
        named = {"by": by, "request": about.id, "rule": about.rule}
        self._publish(event, about.session_id, **named, **facts)

    async def decided(self, request: str, patience: float) -> bool:
        """Return whether an operator approves a request, at the latest after *patience*."""
        waiting = self._waiting.setdefault(request, asyncio.Event())
        try:
            async with asyncio.timeout(patience):
                while self._approvals.find(request).state == "pending":
                    waiting.clear()
                    await waiting.wait()
        except TimeoutError:
            return False
        return self._approvals.find(request).state != "denied"

    def owns(self, request: str) -> bool:
        """Whether a request is for a program that is to be started."""
        return request.startswith(f"{_START}-")

    def grant(self, request: str, by: Principal) -> Granted:
        """Approve a request."""
        made, token = self._approvals.grant(request, msgspec.to_builtins(by))
        self._tell(made, by)
        return granted(made, token)

    def deny(self, request: str, by: Principal) -> Denied:
        """Say no to a request."""
        one = self._approvals.deny(request, msgspec.to_builtins(by))
        self._tell(one, by)
        return Denied(id=one.id, session_id=one.session_id, command=one.command, rule=one.rule)

    def pending(self) -> list[Pending]:
        """Return the requests that wait."""
        return [described(one) for one in self._approvals.pending()]

    def _tell(self, decided: Approval, by: Principal) -> None:
        if decided.id in self._waiting:
            self._waiting.pop(decided.id).set()
        approved = decided.state == "granted"
        self._publish_of("approval_decided", decided, msgspec.to_builtins(by), approved=approved)


def _required(asked: Approval) -> ApprovalRequired:
    return ApprovalRequired(
        f"{asked.rule} requires approval before it can be started",
        rule=asked.rule,
        reason=asked.reason,
        request=asked.id,
        remedy=f"an operator approves it with `agent-pty approve --request {asked.id}`; then "
        "start the same again, or wait for the answer with --wait-approval 5m",
    )


def _added(wanted: Wanted) -> Mapping[str, str]:
    """Return the variables that the request adds to what the daemon itself has."""
    inherited = {
        name: value
        for name, value in (wanted.environment or {}).items()
        if is_suspicious(name) and os.environ.get(name) != value
    }
    return {**inherited, **wanted.env}


def _assignments(wanted: Wanted) -> list[str]:
    return [f"{name}={value}" for name, value in _added(wanted).items() if runs_something(name)]


def _shell_in(wanted: Wanted, program: str, cwd: str) -> str | None:
    """Return the work's directory if the shell itself lies in it."""
    if not wanted.shell or "/" not in program:
        return None
    path = os.path.realpath(os.path.join(cwd, program))
    root = os.path.realpath(cwd)
    return root if root != "/" and path.startswith(f"{root}/") else None
