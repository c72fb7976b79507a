"""The gate of one session with all that belongs to it: approvals, and what an approval covers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent_pty.host.cells.line_check import LineQuestion
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.gate.gate import Gate
from agent_pty.host.gate.permission import Permission
from agent_pty.host.gate.policy_in_force import PolicyInForce
from agent_pty.host.guard.line_cover import LineCover
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.store.approvals import Approvals


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The policy in force, and the file of a session's approvals."""

    in_force: PolicyInForce
    approvals: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionGate:
    """What judges input of a session, and what lets approved programs pass."""

    gate: Gate
    permission: Permission
    cover: LineCover


def gate_of(
    terminal: Terminal,
    readiness: Readiness,
    question: LineQuestion,
    recorder: Recorder,
    rules: Rules,
    *,
    session_id: Callable[[], str],
) -> SessionGate:
    """Put a gate in front of a terminal."""
    instance = terminal.root.instance
    kept = Approvals(rules.approvals, session_id=session_id, instance=instance)
    permission = Permission(terminal, recorder, kept, rules.in_force)
    cover = LineCover()
    gate = Gate(terminal, readiness, question, permission, rules.in_force, guard=cover)
    terminal.guard_by(gate)
    return SessionGate(gate=gate, permission=permission, cover=cover)
