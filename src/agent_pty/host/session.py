"""One session: its parts, put together.

Construction order is also the order in which the parts hear of events: terminal, replies, cells,
waits, viewers, then what publishes news of the terminal.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import msgspec

from agent_pty.core.pattern import compiled
from agent_pty.host import events
from agent_pty.host.cells.answer import Answerer
from agent_pty.host.cells.doing import DoingNow, What
from agent_pty.host.cells.line_check import LineCheck, LineQuestion
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.cells.results import Results
from agent_pty.host.cells.runner import CellRunner
from agent_pty.host.cells.service import CellService
from agent_pty.host.events import EventLog, Numbered
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.terminal.activity import Activity
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

# Answers a request for this session that one of its own ops makes.
Perform = Callable[["Session", bytes], Awaitable[bytes]]


class Session:
    """See `ops.context.Session` for what handlers use. Lives in one event loop."""

    def __init__(
        self,
        spec: Spec,
        *,
        master: int,
        root: tree.Root,
        output: TerminalOutput,
        recorder: Recorder,
        perform: Perform,
        watcher: Callable[[Session, Numbered], None],
    ) -> None:
        self._spec = spec
        self._perform = perform
        self.events = EventLog(number=output.event_number, note=output.note_event)
        self._recorder = recorder
        self.terminal = Terminal(
            spec.name, recorder, master=master, root=root, output=output, log=self.events
        )
        self.input = Input(self.terminal)
        self._replies = Replies(self.terminal)
        readiness = Readiness(self.terminal, program=spec.program)
        question = LineQuestion(self.terminal)
        self._runner = CellRunner(
            self.terminal,
            self.input,
            readiness,
            Results(output.directory, output),
            LineCheck(self.terminal, readiness, question),
            frame=spec.frame or "ladder",
        )
        answerer = Answerer(self._runner, self.terminal, self.input, readiness)
        self.cells = CellService(self._runner, self.terminal, answerer)
        self._doing = DoingNow(self.terminal, readiness, self._runner)
        self._waits = Waits(output, self.cells.outcome)
        self.viewers = Viewers(self.terminal)
        self.typed = TypedCounts()
        notices = Notices(output, self.events)
        self._activity = Activity(output, self.events)
        self.screen = ScreenReader(self.terminal, notices)
        self.transcript = TranscriptReader(self.terminal, compiled)
        self.waits = WaitService(self.terminal, self.screen, self._waits)
        # The order matters. A cell that ends must be known before a wait for it is tested.
        self.events.add(self._replies, question, self._runner, self._waits, self.viewers)
        self.events.add(notices, self._activity, recorder)
        self.events.watch(lambda numbered: watcher(self, numbered))

    def start(self, *, owed: bytes, recovered: bool) -> None:
        """Begin to read; *owed* are replies that a dead host had not sent."""
        output = self.terminal.output
        self._recorder.begin(recovered=recovered)
        self._replies.give(owed, hold=False)
        self._runner.resume()
        # Marks that the host before us may not have handled.
        self._runner.output(output.take_marks())
        self.terminal.start()
        if not recovered:
            pid = self.terminal.root.pid
            self.events.publish(events.Created(cursor=output.cursor, pid=pid))

    @property
    def spec(self) -> Spec:
        """What is fixed or remembered about the session."""
        return self._spec

    @property
    def cursor(self) -> int:
        """Where the transcript continues: what is written from now on is read from here."""
        return self.terminal.output.cursor

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
        self._recorder.rename(name)

    def describe(self) -> Described:
        """Return how the session is, checked against the operating system now."""
        terminal = self.terminal
        terminal.check_alive()
        emulator = terminal.output.emulator
        return Described(
            spec=msgspec.structs.replace(self._spec, rows=emulator.rows, cols=emulator.cols),
            pid=terminal.root.pid,
            birth=terminal.root.birth,
            state=terminal.state,
            ending=terminal.ended,
            cursor=self.cursor,
            attached=len(self.viewers),
            diagnosis=terminal.diagnosis,
            quiet_ms=int((time.monotonic() - terminal.active_at) * 1000),
            last_event=self.events.number,
            output_paused=terminal.output_paused,
        )

    def close(self) -> None:
        """Free everything; the program and the files stay."""
        self._replies.close()
        self._activity.close()
        self.viewers.close()
        self._runner.close()
        self._waits.close()
        self.events.close()
        self._recorder.close()
        self.terminal.close()
