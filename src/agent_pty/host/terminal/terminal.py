"""The one door to a session's terminal.

Rule of this file: every byte for the program passes `Terminal.write`, with who sent it and what
kind of input it is. Nothing else writes to its descriptor; `tests/host/terminal/test_door.py`
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
from agent_pty.host.terminal.admission import Gate
from agent_pty.host.terminal.device import Device
from agent_pty.host.terminal.ended_error import ended_error
from agent_pty.host.terminal.flow_control import FlowControl
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.intent import Intents
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.terminal.program_watch import ProgramWatch
from agent_pty.host.terminal.writer import Writer
from agent_pty.ops.model import Ending, Killed, State
from agent_pty.process import table, tree

# What the kernel still holds of a dead program's output is far less than this many batches.
_LAST_BATCHES = 64
# The keeper reaps at once. If its report has not come by then, it will not come.
_EXIT_CODE_SECONDS = 2.0


class Terminal:
    """Owns the device, the program at its other end and that program's state."""

    def __init__(
        self,
        name: str,
        recorder: Recorder,
        *,
        device: Device,
        root: tree.Root,
        output: TerminalOutput,
        log: EventLog,
    ) -> None:
        self.root = root
        self.output = output
        self.events = log
        self._name = name
        self._recorder = recorder
        self._intents = Intents(recorder, log, output)
        self._device = device
        self._writer = Writer(device.fd, taken=device.taken)
        self._flow_control = FlowControl(output)
        self._state = State.RUNNING
        self._ending: Ending | None = None
        self._diagnosis: str | None = None
        self._active_at = time.monotonic()
        self._program = ProgramWatch(root)
        self._reading = False
        self._gone = asyncio.Event()
        self._gate: Gate | None = None

    # -- facts

    @property
    def name(self) -> str:
        """What the session is called in messages."""
        return self._name

    @property
    def master(self) -> int:
        """The descriptor itself, to give a duplicate of it to the keeper."""
        return self._device.fd

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
        """Why the session is lost, or what is wrong with its terminal at present."""
        return self._diagnosis or self._device.note

    @property
    def active_at(self) -> float:
        """When the last input was given or the last output was read."""
        return self._active_at

    @property
    def output_paused(self) -> bool | None:
        """Whether Ctrl-S or the program has stopped the output; None if that is not known."""
        if not self.running:
            return False
        refuses = self._device.refuses_output()
        return self._flow_control.is_paused(refuses=refuses, quiet_since=self._active_at)

    @property
    def typing(self) -> asyncio.Lock:
        """Held by whoever types, so that two inputs never mix."""
        return self._writer.lock

    def foreground(self) -> int | None:
        """Return the process group that owns the keyboard."""
        return self._device.foreground()

    def foreground_process(self) -> table.Entry | None:
        """Return the program in the foreground if it is not the session's own."""
        group = self.foreground() if self.running else None
        return None if group in (None, self.root.pid) else table.entry(group)

    def cwd(self) -> str | None:
        """Return the directory of the program in the foreground."""
        return table.directory(self.foreground() or self.root.pid)

    def local_modes(self) -> int:
        """Return the terminal's local modes (echo, line editing) as termios has them."""
        return tty.local_modes(self._device.tty)

    def modes(self) -> tty.Modes | None:
        """Return how the terminal is set; None if it is gone."""
        return tty.modes(self._device.tty)

    def restore(self, modes: tty.Modes) -> None:
        """Set the terminal as it was."""
        tty.restore(self._device.tty, modes)

    def guard_by(self, gate: Gate) -> None:
        """Let a gate judge everything that is typed from now on."""
        self._gate = gate

    def rename(self, name: str) -> None:
        """Use another name in messages."""
        self._name = name

    # -- output

    def start(self) -> None:
        """Begin to read."""
        self._program.start(self._program_gone)
        self._device.begin(self)
        self.read_on()

    def read_on(self) -> None:
        """Read what the device has now: the first time, or after it was opened again."""
        os.set_blocking(self._device.fd, False)
        self._writer.use(self._device.fd)
        asyncio.get_running_loop().add_reader(self._device.fd, self._readable)
        self._reading = True

    def _readable(self) -> None:
        try:
            self._take()
        except Exception as error:  # noqa: BLE001  one session's failure must not reach the others
            log.error(error)
            self.lose(f"its output could not be understood: {type(error).__name__}: {error}")

    def _take(self) -> bool:
        """Read one batch and tell everybody; False when there is nothing more to read now."""
        if size := self._device.new_size():
            self._follow_size(*size)
        taken = self.output.take(self._device.fd)
        if taken.count:
            self._device.batch_read(taken.data)
            self._active_at = time.monotonic()
            self.events.signal(
                events.Batch(
                    data=taken.data,
                    marks=self.output.take_marks(),
                    replies=b"" if self._device.answers_queries else taken.replies,
                    reports=self.output.take_reports(),
                )
            )
            if forged := self.output.take_forged():
                self.events.publish(events.MarkForged(cursor=self.output.cursor, count=forged))
        if not taken.open:
            self.stop_reading()
            self._device.investigate(self)
        return taken.open and taken.count > 0

    def stop_reading(self) -> None:
        """Leave what comes from now on in the device."""
        if self._reading:
            asyncio.get_running_loop().remove_reader(self._device.fd)
            self._reading = False

    def lose(self, diagnosis: str) -> None:
        """Give up this terminal; what was understood so far can still be read.

        Later calls are ignored.
        """
        if not self.running:
            return
        self._diagnosis = diagnosis
        self.stop_reading()
        self.events.signal(events.ProgramGone(ending=Ending()))
        self._close_input(State.LOST)
        cursor = self.output.cursor
        self.events.publish(events.Lost(cursor=cursor, diagnosis=diagnosis))

    def bridge_gap(self, screen: bytes, *, reason: str) -> None:
        """Go on after output was lost, from what the *screen* shows now."""
        cursor = self.output.cursor
        self.events.signal(events.Batch(data=self.output.repaint(screen), marks=(), replies=b""))
        self.events.publish(events.OutputGap(cursor=cursor, reason=reason))

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
            if kind is InputKind.REPLY:
                self._recorder.note_device_reply()
            self._writer.write_if_room(data)
            return self.output.cursor
        if self._gate is not None and not tty.only_flow_keys(self._device.tty, data):

            async def type_keys(keys: bytes) -> None:
                await self._type(keys, kind=kind, by=by)

            data = await self._gate.admit(data, kind=kind, by=by, type_keys=type_keys)
        return await self._type(data, kind=kind, by=by, typed=typed, entered=entered)

    async def clear_line(self) -> None:
        """Give up what stands on the line of a shell: keys that were typed and then refused."""
        await self._type(b"\x03", kind=InputKind.INTERRUPT, by=principal.SYSTEM)

    async def _type(
        self,
        data: bytes,
        *,
        kind: InputKind,
        by: Principal,
        typed: Sequence[str] = (),
        entered: bool = False,
    ) -> int:
        """Type what was admitted."""
        seen = tty.echoes(self._device.tty)
        number = self._intents.begin(data, kind=kind, by=by, entered=entered, unseen=not seen)
        self.output.note_input()
        cursor = self.output.cursor
        self._flow_control.note_typed(data, tty.flow_keys(self._device.tty))
        try:
            # The program works from here on. Listeners still see the moment before, because
            # nothing is read in between.
            rest = self._writer.begin(data)
            self._active_at = time.monotonic()
            echo = typed if seen else ()
            self.events.signal(events.Typed(kind=str(kind), echo=echo, entered=entered))
            if made := tty.signal_of(self._device.tty, data):
                self.events.signal(events.Signalled(number=made, group=self.foreground()))
            await self._writer.finish(rest, total=len(data))
        except AgentPtyError as error:
            self._intents.end(number, by=by, error=str(error))
            raise
        self._intents.end(number, by=by)
        return cursor

    def ended_error(self, consequence: str) -> SessionEnded:
        """Return the error for a request that needs a running program."""
        return ended_error(self._name, self.ending, self._diagnosis, consequence)

    # -- control

    def resize(self, *, rows: int, cols: int) -> None:
        """Change the size: of the screen first, because the program redraws at once."""
        if self._device.resizable:
            self._follow_size(rows, cols)
            self._device.set_size(rows=rows, cols=cols)

    def _follow_size(self, rows: int, cols: int) -> None:
        self._recorder.note(Resize(rows=rows, cols=cols))
        self.events.signal(events.Resized(rows=rows, cols=cols))
        self.output.resize(rows=rows, cols=cols)

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
        self.events.signal(events.Signalled(number=number, group=None if everyone else group))
        by = principal.acting.get()
        self._recorder.note(SentSignal(signal=signal.Signals(number).name, pids=reached), by)
        return reached

    async def kill(self) -> Killed:
        """End the whole process tree and name what is left of it."""
        self._recorder.note(Kill(), principal.acting.get())
        self.events.signal(events.Signalled(number=signal.SIGKILL, group=None))
        killed = await tree.kill_trees([self.root])
        with contextlib.suppress(TimeoutError):  # the exit code comes from the keeper
            async with asyncio.timeout(1.0):
                await self._gone.wait()
        await self._device.remove()
        return killed.answer(self.ending)

    # -- the end

    def keeper_changed(self, pid: int | None) -> None:
        """There is another keeper, or none: only that which started the program reports its end."""
        self._program.keeper_changed(pid)

    def check_alive(self) -> None:
        """Notice a program that ended although nobody reported it."""
        if self.running and not self._program.alive:
            self._program_gone()

    def _program_gone(self) -> None:
        """The program ended; wait a moment for the keeper's report of how."""
        if not self.running or self._device.investigate(self):
            return
        if not self._program.keeper_reports:
            self.end(Ending())
            return
        asyncio.get_running_loop().call_later(_EXIT_CODE_SECONDS, self.end, Ending())

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
        self._program.close()
        self._gone.set()

    def close(self) -> None:
        """Free the terminal and everything that reads it; the files stay."""
        self.stop_reading()
        self._writer.close()
        self._program.close()
        if self._device.outlives_us:
            self.output.checkpoint()
        self.output.close()
        self._device.close()
