"""Which fences stood around a session, and what they and people said of commands."""

from __future__ import annotations

from agent_pty.core.evidence import event as events
from agent_pty.core.evidence.event_reader import ReadEvent
from agent_pty.ops.proof_model import GateCoverage, PolicyEvent, ProvedExec
from agent_pty.proof.both_ends import BothEnds
from agent_pty.proof.person import who

_ROOM = 128_000
_SMALL_ROOM = 32_000


class Fences:
    """Fed with all events; no `gate` event: neither line gate nor guard is known to have stood."""

    def __init__(self) -> None:
        self.coverage: BothEnds[GateCoverage] = BothEnds(_SMALL_ROOM)
        self.approvals: BothEnds[PolicyEvent] = BothEnds(_ROOM)
        self.execs: BothEnds[ProvedExec] = BothEnds(_ROOM)
        self.policy_hash: str | None = None

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        match event.payload:
            case events.GateStands() as gate:
                self._stand(event, gate)
            case events.GuardedExec() as seen:
                self._note_exec(event, seen)
            case events.PolicyReloaded() as changed:
                self.policy_hash = changed.new_hash
                reason = f"{changed.old_hash} -> {changed.new_hash}"
                self._note(event, "reloaded", rule="", command="", reason=reason)
            case _:
                self._note_decision(event)

    def _stand(self, event: ReadEvent, gate: events.GateStands) -> None:
        self.policy_hash = gate.policy_hash
        self.coverage.add(
            GateCoverage(
                from_event=event.sequence,
                at=event.timestamp,
                line=gate.line,
                guard=gate.guard,
                policy_hash=gate.policy_hash,
                reason=gate.reason,
            )
        )

    def _note_exec(self, event: ReadEvent, seen: events.GuardedExec) -> None:
        self.execs.add(
            ProvedExec(
                event=event.sequence,
                at=event.timestamp,
                argv=seen.argv,
                cwd=seen.cwd,
                rule=seen.rule,
                result=seen.result,
                cell_id=seen.cell_id,
            )
        )

    def _note_decision(self, event: ReadEvent) -> None:
        match event.payload:
            case events.PolicyDenied(command=command, rule=rule, reason=reason, request=request):
                self._note(
                    event, "denied", rule=rule, command=command, reason=reason, approval=request
                )
            case events.PolicyApprovalRequested(command=command, rule=rule, approval_id=id_):
                self._note(event, "requested", rule=rule, command=command, approval=id_)
            case events.PolicyApprovalCreated(command=command, rule=rule, approval_id=id_) as made:
                reason = "whoever asks may grant it" if made.self_approval else None
                by = who(made.approver)
                self._note(
                    event,
                    "granted",
                    rule=rule,
                    command=command,
                    approval=id_,
                    by=by,
                    reason=reason,
                )
            case events.PolicyApprovalDenied(command=command, rule=rule, reason=reason) as no:
                self._note(
                    event,
                    "refused",
                    rule=rule,
                    command=command,
                    approval=no.approval_id,
                    by=who(no.approver),
                    reason=reason,
                )
            case events.PolicyApproved(command=command, rule=rule, approval_id=id_) as yes:
                by = who(yes.approver)
                self._note(event, "approved", rule=rule, command=command, approval=id_, by=by)

    def _note(
        self,
        event: ReadEvent,
        what: str,
        *,
        rule: str,
        command: str,
        approval: str | None = None,
        by: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.approvals.add(
            PolicyEvent(
                event=event.sequence,
                at=event.timestamp,
                what=what,  # type: ignore[arg-type]  # one of its words, all written above
                rule=rule,
                command=command,
                by=by or who(event.principal),
                approval_id=approval,
                reason=reason,
            )
        )
