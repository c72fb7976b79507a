"""The one door to a session's terminal.

Rule of this file: every byte for the program passes `Terminal.write`, with who sent it and what
kind of input it is. Nothing else writes to the PTY master; `tests/host/terminal/test_door.py`
reads the sources to check that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Sequence

from agent_pty import log
from agent_pty.core.evidence.event import Kill, Resize, SentSignal
from agent_pty.errors import AgentPtyError, SessionEnded
from agent_pty.host import events, principal
from agent_pty.host.events import EventLog
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.principal import Principal
from agent_pty.host.terminal import tty
from agent_pty.host.terminal.ended_error import ended_error
from agent_pty.host.terminal.flow_control import FlowControl
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.terminal.writer import Writer
from agent_pty.ops.model import Ending, Killed, State
from agent_pty.process import table, tree
from agent_pty.process.exit_watch import ExitWatch

# What the kernel still holds of a dead program's output is far less than this many batches.
_LAST_BATCHES = 64
# The keeper reaps at once. If its report has not come by then, it will not come.
_EXIT_CODE_SECONDS = 2.0


class Terminal:
    """Owns the PTY master, the program at its other end and that program's state."""

    def __init__(
        self,
        name: str,
        recorder: Recorder,
        *,
        master: int,
        root: tree.Root,
        output: TerminalOutput,
        log: EventLog,
    ) -> None:
        self.root = root
        self.output = output
        self.events = log
        self._name = name
        self._recorder = recorder
        self._master = master
        self._writer = Writer(master)
        self._flow_control = FlowControl(output)
        self._state = State.RUNNING
        self._ending: Ending | None = None
        self._diagnosis: str | None = None
        self._keeper_reports = True
        self._active_at = time.monotonic()
        self._exit_watch: ExitWatch | None = None
        self._reading = False
        self._gone = asyncio.Event()

    # -- facts

    @property
    def name(self) -> str:
        """What the session is called in messages."""
        return self._name

    @property
    def master(self) -> int:
        """The descriptor itself, to give a duplicate of it to the keeper."""
        return self._master

    @property
    def state(self) -> State:
        """Whether the program runs."""
        return self._state

    @property
    def running(self) -> bool:
        """Whether there is a program that can be typed into."""
        return self._state is State.RUNNING

    @property
    def ending(self) -> Ending:
        """How the program ended; empty while it runs, and if nobody knows."""
        return self._ending or Ending()

    @property
    def ended(self) -> Ending | None:
        """How the program ended, None while it runs."""
        return self._ending

    @property
    def diagnosis(self) -> str | None:
        """Why the session is lost."""
        return self._diagnosis

    @property
    def active_at(self) -> float:
        """When the last input was given or the last output was read."""
        return self._active_at

    @property
    def output_paused(self) -> bool | None:
        """Whether Ctrl-S or the program has stopped the output; None if that is not known."""
        if not self.running:
            return False
        refuses = tty.refuses_output(self._master)
        return self._flow_control.is_paused(refuses=refuses, quiet_since=self._active_at)

    @property
    def typing(self) -> asyncio.Lock:
        """Held by whoever types, so that two inputs never mix."""
        return self._writer.lock

    def foreground(self) -> int | None:
        """Return the process group that owns the keyboard."""
        return tty.foreground(self._master)

    def foreground_process(self) -> table.Entry | None:
        """Return the program in the foreground if it is not the session's own."""
        group = self.foreground() if self.running else None
        return None if group in (None, self.root.pid) else table.entry(group)

    def cwd(self) -> str | None:
        """Return the directory of the program in the foreground."""
        return table.directory(self.foreground() or self.root.pid)

    def local_modes(self) -> int:
        """Return the terminal's local modes (echo, line editing) as termios has them."""
        return tty.local_modes(self._master)

    def modes(self) -> tty.Modes | None:
        """Return how the terminal is set; None if it is gone."""
        return tty.modes(self._master)

    def restore(self, modes: tty.Modes) -> None:
        """Set the terminal as it was."""
        tty.restore(self._master, modes)

    def rename(self, name: str) -> None:
        """Use another name in messages."""
        self._name = name

    # -- output

    def start(self) -> None:
        """Begin to read."""
        os.set_blocking(self._master, False)
        self._exit_watch = ExitWatch(self.root.pid, self.root.birth, self._program_gone)
        asyncio.get_running_loop().add_reader(self._master, self._readable)
        self._reading = True

    def _readable(self) -> None:
        try:
            self._take()
        except Exception as error:  # noqa: BLE001  one session's failure must not reach the others
            log.error(error)
            self._fail(error)

    def _take(self) -> bool:
        """Read one batch and tell everybody; False when there is nothing more to read now."""
        taken = self.output.take(self._master)
        if taken.count:
            self._active_at = time.monotonic()
            self.events.signal(
                events.Batch(
                    data=taken.data,
                    marks=self.output.take_marks(),
                    replies=taken.replies,
                    reports=self.output.take_reports(),
                )
            )
            if forged := self.output.take_forged():
                self.events.publish(events.MarkForged(cursor=self.output.cursor, count=forged))
        if not taken.open:
            self._stop_reading()
        return taken.open and taken.count > 0

    def _stop_reading(self) -> None:
        if self._reading:
            asyncio.get_running_loop().remove_reader(self._master)
            self._reading = False

    def _fail(self, error: Exception) -> None:
        """Give up this terminal; what was understood so far can still be read."""
        self._diagnosis = f"its output could not be understood: {type(error).__name__}: {error}"
        self._stop_reading()
        self.events.signal(events.ProgramGone(ending=Ending()))
        self._close_input(State.LOST)
        cursor = self.output.cursor
        self.events.publish(events.Lost(cursor=cursor, diagnosis=self._diagnosis))

    # -- input

    async def write(
        self,
        data: bytes,
        *,
        kind: InputKind,
        by: Principal,
        typed: Sequence[str] = (),
        entered: bool = False,
    ) -> int:
        """Give *data* to the program; return the cursor from which its effect can be read.

        *typed* is what of it will be echoed, *entered* whether it ends a line. Hold `typing`
        from the moment at which the data was encoded.
        """
        if not self.running:
            raise self.ended_error("nothing can be typed into it")
        if kind in (InputKind.REPLY, InputKind.QUESTION):
            # No input of anybody's: neither judged nor recorded, and never waited for.
            self._writer.write_if_room(data)
            return self.output.cursor
        await self._judge(data, kind=kind, by=by)
        number = self._record_intent(data, kind=kind, by=by, entered=entered)
        return await self._deliver(number, data, kind=kind, by=by, typed=typed, entered=entered)

    async def _judge(self, data: bytes, *, kind: InputKind, by: Principal) -> None:
        """Refuse by raising, before a byte is typed; the policy gate will stand here."""

    def _record_intent(self, data: bytes, *, kind: InputKind, by: Principal, entered: bool) -> int:
        """Record what is about to be typed; what cannot be recorded is not typed."""
        place = self._recorder.intend(
            data, kind=str(kind), by=by, entered=entered, unseen=not tty.echoes(self._master)
        )
        number = self.events.publish(
            events.Input(
                cursor=self.output.cursor,
                by=by,
                kind=str(kind),
                bytes=len(data),
                entered=entered,
            )
        )
        self._recorder.link(number, place)
        return number

    async def _deliver(
        self,
        number: int,
        data: bytes,
        *,
        kind: InputKind,
        by: Principal,
        typed: Sequence[str],
        entered: bool,
    ) -> int:
        self.output.note_input()
        echo = typed if tty.echoes(self._master) else ()
        cursor = self.output.cursor
        self._flow_control.note_typed(data, tty.flow_keys(self._master))
        try:
            # The program works from here on. Listeners still see the moment before, because
            # nothing is read in between.
            rest = self._writer.begin(data)
            self._active_at = time.monotonic()
            self.events.signal(events.Typed(kind=str(kind), echo=echo, entered=entered))
            await self._writer.finish(rest, total=len(data))
        except AgentPtyError as error:
            self._publish_outcome(number, by=by, error=str(error))
            raise
        self._publish_outcome(number, by=by)
        return cursor

    def _publish_outcome(self, number: int, *, by: Principal, error: str | None = None) -> None:
        self.events.publish(
            events.Outcome(
                cursor=self.output.cursor,
                by=by,
                input=number,
                result="delivered" if error is None else "failed",
                error=error,
            )
        )

    def ended_error(self, consequence: str) -> SessionEnded:
        """Return the error for a request that needs a running program."""
        return ended_error(self._name, self.ending, self._diagnosis, consequence)

    # -- control

    def resize(self, *, rows: int, cols: int) -> None:
        """Change the size: of the screen first, because the program redraws at once."""
        self._recorder.note(Resize(rows=rows, cols=cols))
        self.output.resize(rows=rows, cols=cols)
        with contextlib.suppress(OSError):
            tty.set_size(self._master, rows=rows, cols=cols)

    def straighten(self) -> None:
        """Undo what a program that was killed left set, on every screen."""
        sequence = self.output.straighten()
        self.events.signal(events.Batch(data=sequence, marks=(), replies=b""))

    def signal(self, number: int, *, everyone: bool) -> list[int]:
        """Signal the foreground group, or every process of the session; return the pids."""
        if not self.running:
            raise self.ended_error("there is nothing to signal")
        group = self.foreground()
        targets = tree.members([self.root])
        if not everyone:
            targets = [found for found in targets if found.group == group]
        reached = [found.pid for found in targets if tree.send(found, number)]
        by = principal.acting.get()
        self._recorder.note(SentSignal(signal=signal.Signals(number).name, pids=reached), by)
        return reached

    async def kill(self) -> Killed:
        """End the whole process tree and name what is left of it."""
        self._recorder.note(Kill(), principal.acting.get())
        killed = await tree.kill_trees([self.root])
        with contextlib.suppress(TimeoutError):  # the exit code comes from the keeper
            async with asyncio.timeout(1.0):
                await self._gone.wait()
        ending = self.ending
        return Killed(
            ended=killed.ended,
            survivors=killed.survivors,
            exit_code=ending.code,
            signal=ending.signal,
            spared=killed.spared,
        )

    # -- the end

    def keeper_lost(self) -> None:
        """Nobody will report an exit code from now on."""
        self._keeper_reports = False

    def keeper_found(self, pid: int) -> None:
        """There is a keeper again; if it is the one that started the program, it reports."""
        self._keeper_reports = pid == self.root.keeper

    def check_alive(self) -> None:
        """Notice a program that ended although nobody reported it."""
        found = table.entry(self.root.pid)
        alive = found is not None and found.alive and self.root.birth in (None, found.birth)
        if self.running and not alive:
            self._program_gone()

    def _program_gone(self) -> None:
        """The program ended; wait a moment for the keeper's report of how."""
        if not self.running:
            return
        if not self._keeper_reports:
            self.end(Ending())
            return
        loop = asyncio.get_running_loop()
        loop.call_later(_EXIT_CODE_SECONDS, lambda: self.end(Ending()))

    def end(self, ending: Ending) -> None:
        """Note how the program ended, after everything it wrote was read.

        Later calls are ignored.
        """
        if not self.running:
            return
        for _ in range(_LAST_BATCHES):
            if not self._take():
                break
        self._ending = ending
        self.events.signal(events.ProgramGone(ending=ending))
        self._close_input(State.EXITED)
        self.events.publish(
            events.Exited(cursor=self.output.cursor, exit_code=ending.code, signal=ending.signal)
        )
        self.output.checkpoint()

    def _close_input(self, state: State) -> None:
        self._state = state
        self._writer.close()
        self._close_exit_watch()
        self._gone.set()

    def _close_exit_watch(self) -> None:
        if self._exit_watch is not None:
            self._exit_watch.close()

    def close(self) -> None:
        """Free the terminal and everything that reads it; the files stay."""
        self._stop_reading()
        self._writer.close()
        self._close_exit_watch()
        self.output.close()
        os.close(self._master)
