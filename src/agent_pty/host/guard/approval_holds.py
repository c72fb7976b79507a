"""Operators decide on held execs, as they do on lines: each exec is a request of its own."""

from __future__ import annotations

import asyncio
import shlex
from typing import Literal

from agent_pty.core.policy.approval import Approval
from agent_pty.host.gate.permission import Permission
from agent_pty.host.guard.exec_judge import Judged

Decided = Literal["approved", "refused", "expired"]
# Why a decision is cancelled if nobody waits for it any more; without it, another host asks again.
WITHDRAWN = "withdrawn"


class ApprovalHolds:
    """Asks the operators while the program waits."""

    def __init__(self, permission: Permission) -> None:
        self._permission = permission

    def ask(self, argv: list[str], judged: Judged) -> Approval:
        """Make a request, or find the one that a host before this one has made."""
        return self._permission.ask_exec(
            shlex.join(argv), judged.verdict, cwd=judged.cwd, pid=judged.pid
        )

    async def decided(self, request: Approval) -> Decided:
        """Return what was decided; see `WITHDRAWN` for when it is cancelled."""
        try:
            return await self._permission.exec_decided(request)
        except asyncio.CancelledError as why:
            if WITHDRAWN in why.args:
                self._permission.withdraw(request)
            raise
