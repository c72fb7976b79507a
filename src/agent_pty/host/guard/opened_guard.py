"""How the guard of a session is put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_pty.host.guard.approval_holds import ApprovalHolds
from agent_pty.host.guard.exec_guard import ExecGuard
from agent_pty.host.guard.exec_judge import ExecJudge
from agent_pty.keeper.message import ExecAnswered

if TYPE_CHECKING:
    from agent_pty.host.session import Session


def opened_guard(
    session: Session,
    listener: int,
    tell_keeper: Callable[[ExecAnswered], None],
    *,
    last: int | None,
) -> ExecGuard:
    """Return what judges the execs of a session from now on; it owns *listener*."""
    spec = session.spec
    # What is not known must not be weaker than what was asked for.
    mode = spec.guard or "strict"
    judge = ExecJudge(
        mode,
        lambda: session.in_force.policy,
        root=session.terminal.root.pid,
        workspace=spec.workspace,
    )

    def answered(identity: int) -> None:
        tell_keeper(ExecAnswered(instance=spec.instance, id=identity))

    return ExecGuard(
        mode,
        listener,
        judge=judge,
        holds=ApprovalHolds(session.permission),
        recorder=session.recorder,
        waiting=session.approval,
        cover=session.cover,
        answered=answered,
        last=last,
    )
