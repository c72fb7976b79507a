"""The guard of one session: it answers the kernel before each exec of the session's processes.

Rule of this file: an exec goes on only after a verdict that allows it, an approval, or because an
approval covers it. Until then it waits, also when this host dies: the next one is asked again.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_pty import log
from agent_pty.core.evidence.event import GuardedExec
from agent_pty.core.guard_mode import GuardMode
from agent_pty.core.policy.approval import Approval
from agent_pty.core.redaction.argv import redacted_argv
from agent_pty.errors import AgentPtyError
from agent_pty.host import events
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.guard.approval_holds import WITHDRAWN, ApprovalHolds, Decided
from agent_pty.host.guard.approved_processes import ApprovedProcesses
from agent_pty.host.guard.exec_judge import ExecJudge, Judged
from agent_pty.host.guard.executed_programs import ExecutedPrograms
from agent_pty.host.guard.line_cover import LineCover
from agent_pty.keeper import seccomp
from agent_pty.keeper.message import ExecAsked
from agent_pty.process.exit_watch import ExitWatch

# What waits for an approval gets only SIGKILL: whoever sends one of these wants it to end.
_ENDING = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGKILL}
_Result = Literal["denied", "held", "approved", "refused", "expired", "covered", "recorded"]


class Waiting(Protocol):
    """Whoever must know that a program waits for an approval: the cell that runs it."""

    @property
    def cell_id(self) -> str | None:
        """The cell that runs now."""

    def held(self, hint: str) -> None:
        """A program waits for an approval."""

    def decided(self) -> None:
        """No program waits for an approval any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    asked: ExecAsked
    judged: Judged
    request: Approval
    task: asyncio.Task[None]
    watch: ExitWatch


class ExecGuard:
    """Owns a duplicate of the session's *listener*; *answered* is told the id of each answer."""

    def __init__(
        self,
        mode: GuardMode,
        listener: int,
        *,
        judge: ExecJudge,
        holds: ApprovalHolds,
        recorder: Recorder,
        waiting: Waiting,
        cover: LineCover,
        answered: Callable[[int], None],
        last: int | None = None,
    ) -> None:
        self.mode = mode
        self.listener = listener
        self._judge = judge
        self._holds = holds
        self._recorder = recorder
        self._waiting = waiting
        self._answered = answered
        self.last = last
        self._open: dict[int, ExecAsked] = {}
        self._held: dict[int, _Held] = {}
        self._cover = cover
        self._approved = ApprovedProcesses()
        self._executed = ExecutedPrograms(recorder.note, lambda: waiting.cell_id)

    @property
    def open(self) -> list[ExecAsked]:
        """The execs without an answer, for a keeper that does not know them."""
        return list(self._open.values())

    @property
    def holds_any(self) -> bool:
        """Whether a program waits for an approval."""
        return bool(self._held)

    # -- execs

    def asked(self, asked: ExecAsked) -> None:
        """Answer an exec, or hold it until somebody has decided; a repeated question is ignored."""
        if asked.id in self._open:
            return
        if self.last is None or seccomp.is_later(asked.id, self.last):
            self.last = asked.id
        self._open[asked.id] = asked
        judged = self._judge.judge(asked)
        verdict = judged.verdict
        if verdict.action == "allow":
            self._let_go(asked, judged)
        elif self._approved.was_refused(judged.row, asked.argv):
            self._answer(asked, errno.EPERM)
        elif verdict.action == "deny":
            self._refuse(asked, judged, "denied")
        elif judged.tolerated:
            self._let_go(asked, judged, "recorded")
        elif self._cover.covers(verdict.rule) or self._approved.covers(judged.row, verdict.rule):
            self._let_go(asked, judged, "covered")
        else:
            self._hold(asked, judged)

    def _let_go(
        self,
        asked: ExecAsked,
        judged: Judged,
        result: _Result | None = None,
        request: Approval | None = None,
    ) -> None:
        if result is not None:
            self._record(asked, judged, result, request)
        self._answer(asked, None)  # first: the program waits for it
        if judged.file is not None:
            self._executed.add(judged.file)

    def _refuse(
        self, asked: ExecAsked, judged: Judged, result: _Result, request: Approval | None = None
    ) -> None:
        self._record(asked, judged, result, request)
        self._approved.note_refused(judged.row, asked.argv)
        self._answer(asked, errno.EPERM)

    def _answer(self, asked: ExecAsked, error: int | None) -> None:
        seccomp.answer(self.listener, asked.id, error=error)
        self._forget(asked)

    def _forget(self, asked: ExecAsked) -> None:
        self._open.pop(asked.id, None)
        self._answered(asked.id)

    # -- held ones

    def _hold(self, asked: ExecAsked, judged: Judged) -> None:
        if not seccomp.is_open(self.listener, asked.id):  # it has ended meanwhile
            self._forget(asked)
            return
        try:
            request = self._holds.ask(asked.argv, judged)
        except (AgentPtyError, OSError) as error:  # nobody can approve what cannot be noted
            log.error(error)
            self._refuse(asked, judged, "refused")
            return
        self._record(asked, judged, "held", request)
        birth = judged.row[0].birth if judged.row else None
        self._held[asked.id] = _Held(
            asked=asked,
            judged=judged,
            request=request,
            task=asyncio.get_running_loop().create_task(self._decide(asked, request)),
            watch=ExitWatch(judged.pid, birth, lambda: self._end(asked.id, "expired")),
        )
        # Not at once: it may be decided without asking anybody.
        asyncio.get_running_loop().call_soon(self._report, asked, judged)

    def _report(self, asked: ExecAsked, judged: Judged) -> None:
        if asked.id in self._held:
            words = " ".join(redacted_argv(asked.argv, self._recorder.known_secrets))
            self._waiting.held(f"{judged.verdict.rule} requires approval: {words}")

    async def _decide(self, asked: ExecAsked, request: Approval) -> None:
        try:
            decided = await self._holds.decided(request)
        except Exception as error:  # noqa: BLE001  nobody has approved it
            log.error(error)
            decided = "refused"
        self._end(asked.id, decided)

    def _end(self, identity: int, decided: Decided) -> None:
        """Carry out what was decided; nothing if that has happened already."""
        held = self._held.pop(identity, None)
        if held is None:
            return
        held.watch.close()
        if held.task is not asyncio.current_task():
            held.task.cancel(WITHDRAWN)
        if decided == "approved":
            self._approved.add(held.judged.row, held.judged.verdict.rule)
            self._let_go(held.asked, held.judged, decided, held.request)
        else:
            self._refuse(held.asked, held.judged, decided, held.request)
        if not self._held:
            self._waiting.decided()

    def refuse_held(self, group: int | None = None) -> None:
        """Refuse what waits, or only what is of a process group: it could not end otherwise."""
        for identity, held in list(self._held.items()):
            if group is None or _group(held.judged.pid) == group:
                self._end(identity, "refused")

    # -- the session

    def notice(self, event: events.Event | events.Signal) -> None:
        """Follow what happens in the session."""
        match event:
            case events.Signalled(number=number, group=group) if number in _ENDING:
                self.refuse_held(group)
            case events.CellEnded(cell_id=cell_id):
                self._executed.flush(cell_id)
            case events.ProgramGone():
                self._executed.flush()

    def _record(
        self, asked: ExecAsked, judged: Judged, result: _Result, request: Approval | None = None
    ) -> None:
        self._recorder.note(
            GuardedExec(
                argv=redacted_argv(asked.argv, self._recorder.known_secrets),
                cwd=judged.cwd,
                pid=judged.pid,
                rule=judged.verdict.rule or "",
                result=result,
                cell_id=self._waiting.cell_id,
                request=None if request is None else request.id,
            )
        )

    def close(self) -> None:
        """Leave what waits to the next host."""
        for held in self._held.values():
            held.watch.close()
            held.task.cancel()
        self._held.clear()
        self._executed.flush()
        os.close(self.listener)


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None
