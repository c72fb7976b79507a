"""One session: its parts, put together.

Construction order is also the order in which the parts hear of events: terminal, replies, cells,
waits, viewers, then what publishes news of the terminal.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import msgspec

from agent_pty.core.evidence.event import Proof
from agent_pty.core.evidence.tmux_event import Released
from agent_pty.core.pattern import compiled
from agent_pty.errors import UnknownSession
from agent_pty.host import events, message, principal
from agent_pty.host.cells.answer import Answerer
from agent_pty.host.cells.approval_wait import ApprovalWait
from agent_pty.host.cells.doing import DoingNow, What
from agent_pty.host.cells.exports import Exports
from agent_pty.host.cells.line_check import LineCheck, LineQuestion
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.cells.results import Results
from agent_pty.host.cells.runner import CellRunner
from agent_pty.host.cells.service import CellService
from agent_pty.host.events import EventLog, Numbered
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.evidence.recording import Recording
from agent_pty.host.evidence.session_evidence import SessionEvidence
from agent_pty.host.evidence.snapshots import Snapshots
from agent_pty.host.gate.session_gate import Rules, gate_of
from agent_pty.host.guard.exec_guard import ExecGuard
from agent_pty.host.idle_stop import IdleStop
from agent_pty.host.principal import SYSTEM
from agent_pty.host.terminal.activity import Activity
from agent_pty.host.terminal.device import Device
from agent_pty.host.terminal.input import Input
from agent_pty.host.terminal.notices import Notices
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.terminal.pages import TranscriptReader
from agent_pty.host.terminal.replies import Replies
from agent_pty.host.terminal.screen import ScreenReader
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.host.viewers.attach import Viewers
from agent_pty.host.viewers.typed import TypedCounts
from agent_pty.host.waits.service import WaitService
from agent_pty.host.waits.waits import Waits
from agent_pty.ops.model import Described, Spec
from agent_pty.process import tree
from agent_pty.store.journal import Journal

# Answers a request for this session that one of its own ops makes.
Perform = Callable[["Session", bytes], Awaitable[bytes]]


class Session:
    """See `ops.context.Session` for what handlers use. Lives in one event loop."""

    def __init__(
        self,
        spec: Spec,
        *,
        device: Device,
        root: tree.Root,
        output: TerminalOutput,
        evidence: SessionEvidence,
        perform: Perform,
        watcher: Callable[[Session, Numbered], None],
        rules: Rules,
    ) -> None:
        self._spec, self._perform = spec, perform
        self.events = EventLog(number=output.event_number, note=output.note_event)
        self._evidence, recorder = evidence, evidence.recorder
        self.terminal = Terminal(
            spec.name, recorder, device=device, root=root, output=output, log=self.events
        )
        self.input = Input(self.terminal)
        self._replies = Replies(self.terminal)
        readiness = Readiness(self.terminal, program=spec.program)
        question = LineQuestion(self.terminal)
        gated = gate_of(
            self.terminal, readiness, question, recorder, rules, session_id=lambda: self._spec.name
        )
        self.gate, self.permission, self.cover = gated.gate, gated.permission, gated.cover
        self.in_force = rules.in_force
        self._exports = Exports(readiness, question, output.directory, instance=spec.instance)
        line = LineCheck(self.terminal, readiness, question, self.gate.permit_code)
        results, frame = Results(output.directory, output), spec.frame or "ladder"
        self._runner = CellRunner(self.terminal, self.input, readiness, results, line, frame=frame)
        answerer = Answerer(self._runner, self.terminal, self.input, readiness)
        self.cells = CellService(self._runner, self.terminal, answerer)
        self.approval = ApprovalWait(self._runner)
        self._doing = DoingNow(self.terminal, readiness, self._runner, self.approval)
        self._guard: ExecGuard | None = None
        self._waits = Waits(output, self.cells.outcome)
        self.viewers = Viewers(self.terminal)
        self.typed = TypedCounts()
        notices = Notices(output, self.events)
        self._activity = Activity(output, self.events)
        self.screen = ScreenReader(self.terminal, notices)
        self.transcript = TranscriptReader(self.terminal, compiled)
        self._snapshots = Snapshots(spec.workspace, evidence.looks, recorder)
        self.waits = WaitService(self.terminal, self.screen, self._waits, recorder, self._snapshots)
        # The order matters. A cell that ends must be known before a wait for it is tested.
        self.events.add(self._replies, question, self.gate, self._runner, self._waits, self.viewers)
        self.events.add(notices, self._activity, *evidence.listeners, self._snapshots)
        self._idle_stop: IdleStop | None = None
        self.events.watch(lambda numbered: watcher(self, numbered))

    def start(self, *, owed: bytes, recovered: bool) -> None:
        """Begin to read; *owed* are replies that a dead host had not sent."""
        output = self.terminal.output
        self._evidence.begin(recovered=recovered)
        if recovered:
            self.gate.recall()
        self.recorder.note(self.gate.described(self._spec.guard), SYSTEM)
        self._snapshots.start()
        self._replies.give(owed, hold=False)
        self._runner.resume()
        # Marks that the host before us may not have handled.
        self._runner.output(output.take_marks())
        self.terminal.start()
        self._limit_idle_time()
        if not recovered:
            pid = self.terminal.root.pid
            self.events.publish(events.Created(cursor=output.cursor, pid=pid))

    def _limit_idle_time(self) -> None:
        """End the session when nobody uses it for long, if that was asked for."""
        if self._spec.idle_stop:
            self._idle_stop = IdleStop(
                self._spec.idle_stop,
                self.terminal,
                self,
                self._evidence.recorder,
                name=self._spec.name,
            )
            self.events.add(self._idle_stop)

    def be_guarded(self, guard: ExecGuard) -> None:
        """Have every exec of the session judged; the session closes the guard."""
        self._guard = guard
        self.events.add(guard)

    @property
    def guard(self) -> ExecGuard | None:
        """What judges the execs of the session, if anything does."""
        return self._guard

    @property
    def in_use(self) -> bool:
        """Whether a person is attached, a cell runs or somebody waits."""
        return bool(len(self.viewers) or self._runner.active is not None or self._waits.any_pending)

    @property
    def waited_at(self) -> float:
        """When the last wait ended."""
        return self._waits.waited_at

    @property
    def spec(self) -> Spec:
        """What is fixed or remembered about the session."""
        return self._spec

    @property
    def recording(self) -> Recording | None:
        """The recording of what the terminal shows, if one is made."""
        return self._evidence.recording

    @property
    def recorder(self) -> Recorder:
        """What writes the record of what is done in the session."""
        return self._evidence.recorder

    @property
    def journal(self) -> Journal:
        """The record of what is done in the session."""
        return self._evidence.recorder.journal

    @property
    def cursor(self) -> int:
        """Where the transcript continues: what is written from now on is read from here."""
        return self.terminal.output.cursor

    async def exports(self) -> list[bytes] | None:
        """Ask the shell what it exports; None: it does not say."""
        return await self._exports.ask()

    def doing(self) -> tuple[What | None, str | None, str | None]:
        """Return what the session does, the command that runs in it and its directory."""
        return self._doing.look()

    async def perform(self, payload: bytes) -> bytes:
        """Answer another request for this session in the same way as one from outside."""
        return await self._perform(self, payload)

    def rename(self, name: str) -> None:
        """Take another name; the event still has the old one."""
        self.events.publish(events.Renamed(cursor=self.cursor, name_now=name))
        self._spec = msgspec.structs.replace(self._spec, name=name)
        self.terminal.rename(name)
        self._evidence.recorder.rename(name)

    def describe(self) -> Described:
        """Return how the session is, checked against the operating system now."""
        terminal = self.terminal
        terminal.check_alive()
        self.journal.look_again()
        emulator = terminal.output.emulator
        return Described(
            spec=msgspec.structs.replace(self._spec, rows=emulator.rows, cols=emulator.cols),
            pid=terminal.root.pid,
            birth=terminal.root.birth,
            state=terminal.state,
            ending=terminal.ended,
            cursor=self.cursor,
            attached=len(self.viewers),
            diagnosis=terminal.diagnosis or (self._idle_stop.reason if self._idle_stop else None),
            quiet_ms=int((time.monotonic() - terminal.active_at) * 1000),
            last_event=self.events.number,
            output_paused=terminal.output_paused,
            evidence_problem=self.journal.problem,
            recording_problem=self._evidence.recording_problem,
        )

    async def settle_evidence(self) -> None:
        """Record how the work tree is now, and how far the recording is."""
        await self._snapshots.catch_up()
        if self.recording is not None:
            self.recording.cover()

    def note_proof(self, written: message.NoteProof) -> None:
        """Record that a proof was written."""
        action = Proof(
            json_path=written.json_path,
            markdown_path=written.markdown_path,
            html_path=written.html_path,
        )
        self._evidence.recorder.note(action, written.by.acting_as("agent"))

    def note_release(self) -> None:
        """Record that its terminal is given back to whom it was taken from."""
        self._evidence.recorder.note(Released(), principal.acting.get())

    async def finish_evidence(self) -> None:
        """Record how the work tree is after the end of the session."""
        await self._snapshots.finish()

    def close(self) -> None:
        """Free everything; the program and the files stay."""
        if self._idle_stop is not None:
            self._idle_stop.close()
        if self._guard is not None:
            self._guard.close()
        self._replies.close()
        self._snapshots.close()
        self._activity.close()
        self.viewers.close()
        self._runner.close()
        self._waits.close()
        self.events.close()
        self._evidence.close()
        self.terminal.close()


class Sessions(dict[str, Session]):
    """The sessions of a host by instance."""

    def find(self, instance: str) -> Session:
        """Return one, or say that there is none."""
        if instance not in self:
            raise UnknownSession(instance)
        return self[instance]
