"""What a session does now, from its cell and from one look at its foreground."""

from __future__ import annotations

from typing import Literal

from agent_pty.core.tty_state import Verdict
from agent_pty.host.cells.approval_wait import ApprovalWait
from agent_pty.host.cells.cell import WaitingFor
from agent_pty.host.cells.foreground import Foreground, observe
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.cells.runner import CellRunner
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.process import table

What = Literal["idle", "busy", "waiting", "secret", "approval"]

_WHILE_WAITING: dict[WaitingFor | None, What] = {
    None: "busy",
    "input": "waiting",
    "secret": "secret",
    "approval": "approval",
}


class DoingNow:
    """Looks when asked; nothing is typed, and nothing is learned from it."""

    def __init__(
        self,
        terminal: Terminal,
        readiness: Readiness,
        runner: CellRunner,
        approval: ApprovalWait,
    ) -> None:
        self._approval = approval
        self._terminal = terminal
        self._readiness = readiness
        self._runner = runner

    def look(self) -> tuple[What | None, str | None, str | None]:
        """Return what the session does, the command that runs in it and its directory."""
        if not self._terminal.running:
            return None, None, None
        cwd, cell = self._terminal.cwd(), self._runner.active
        if cell is None:
            seen = observe(self._terminal)
            held = self._approval.hint is not None
            return "approval" if held else self._judged(seen), self._command(seen), cwd
        return _WHILE_WAITING[cell.waiting_for], cell.code, cwd

    def _judged(self, seen: Foreground) -> What:
        match self._readiness.verdict(seen):
            case Verdict.BUSY:
                return "busy"
            case Verdict.SECRET:
                return "secret"
            case Verdict.PROMPT | Verdict.UNMARKED:
                return "idle"
            case Verdict.INPUT if seen.tty.own and self._readiness.ready == "marks":
                return "idle"  # it has marked this prompt
            case _:
                return "waiting"

    def _command(self, seen: Foreground) -> str | None:
        """Return the command line of the foreground, unless that is the session's own program."""
        group = self._terminal.foreground()
        if seen.tty.own or group is None:
            return None
        return " ".join(table.arguments(group)) or None
