"""One session: a terminal that is read, understood, typed into and waited for."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import sys
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from agent_pty.core.condition import debug_form
from agent_pty.core.find import Place
from agent_pty.core.safe import Allowed
from agent_pty.errors import SessionEnded, WaitTimeout
from agent_pty.host import principal
from agent_pty.host.cells import foreground
from agent_pty.host.cells.readiness import Front
from agent_pty.host.cells.service import desk_of
from agent_pty.host.terminal import pages, tty
from agent_pty.host.terminal.input import Hands
from agent_pty.host.terminal.output import Stream
from agent_pty.host.terminal.replies import Replies
from agent_pty.host.terminal.screen import Eyes
from agent_pty.host.terminal.writer import Writer
from agent_pty.host.viewers.audience import Audience
from agent_pty.host.waits.pattern import compiled
from agent_pty.host.waits.view import Mark
from agent_pty.host.waits.waits import Met, ProgramEnded, Waits
from agent_pty.ops.context import Form
from agent_pty.ops.model import (
    Changes,
    Described,
    Ending,
    Killed,
    Observation,
    ProcessSnapshot,
    Reading,
    Screen,
    Spec,
    State,
)
from agent_pty.process import table, tree
from agent_pty.process.exit_watch import ExitWatch, obituary

_TAIL_CHARACTERS = 12_000
# What the kernel still holds of a dead program's output is far less than this many batches.
_LAST_BATCHES = 64
# The keeper reaps at once; if it does not tell by then, it cannot.
_EXIT_CODE_SECONDS = 2.0


class Session:
    """See `ops.context.Session` for what handlers use. Lives in one event loop."""

    def __init__(self, spec: Spec, *, master: int, root: tree.Root, stream: Stream) -> None:
        self.spec = spec
        self.root = root
        self.stream = stream
        self.state = State.RUNNING
        self.ending: Ending | None = None
        self.diagnosis: str | None = None
        self.knows_exit: Callable[[], bool] = lambda: True
        self._master = master
        self._writer = Writer(master)
        self._replies = Replies(self._writer)
        self._waits = Waits(stream, lambda cell: self.desk.news(cell))  # noqa: PLW0108  not yet there
        self.audience = Audience(stream)
        self._eyes = Eyes(stream.emulator, self.audience.notices)
        self.hands = Hands(stream.emulator, self._writer.turn, self._input)
        self._front = Front(
            program=spec.program,
            look=lambda: foreground.look(master, root, stream),
            glance=lambda: foreground.glance(master, root, stream),
            last=stream.last_mark,
        )
        self.desk, self._cells = desk_of(self, self._front, spec.frame, self._waits.stir)
        self.road: Callable[[bytes], Awaitable[bytes]]
        self._mark = Mark(place=stream.log.place(stream.input_cursor))
        self._last_input = self._last_output = time.monotonic()
        self._watch: ExitWatch | None = None

    def start(self, owed: bytes = b"") -> None:
        """Begin to read; *owed* are replies that a dead host had not sent."""
        os.set_blocking(self._master, False)
        self._replies.give(owed, hold=False)
        self.stream.acknowledge()
        self._cells.resume()
        # Those that the host before us may have missed.
        self._cells.output(self.stream.take_marks())
        self._watch = ExitWatch(self.root.pid, self.root.birth, self._program_gone)
        asyncio.get_running_loop().add_reader(self._master, self._readable)

    @property
    def master(self) -> int:
        """The terminal, for custody."""
        return self._master

    @property
    def cursor(self) -> int:
        """Where text goes on: what is written from now on is read from here."""
        return self.stream.cursor

    # -- output

    def _readable(self) -> None:
        try:
            self._take()
        except Exception as error:  # noqa: BLE001  one session's mishap must not reach the others
            traceback.print_exc(file=sys.stderr)
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Give up reading this terminal; what was understood so far can still be read."""
        self.diagnosis = f"its output could not be understood: {type(error).__name__}: {error}"
        asyncio.get_running_loop().remove_reader(self._master)
        self._cells.ended(Ending())
        self._close_input(State.LOST)
        self.audience.end("lost", {"diagnosis": self.diagnosis})

    def _take(self) -> bool:
        """Read one batch; False when there is nothing more to read now."""
        taken = self.stream.take(self._master)
        if taken.count:
            marks = self.stream.take_marks()
            self._answer(taken.replies, ended=any(one.mark.kind == "D" for one in marks))
            self._last_output = time.monotonic()
            self._cells.output(marks)
            self._waits.output()
            self.audience.output(taken.data)
        if not taken.open:
            asyncio.get_running_loop().remove_reader(self._master)
        return taken.open and taken.count > 0

    def attach(
        self, *, read_only: bool, history: int, allowed: Allowed, raw: bool
    ) -> AsyncIterator[bytes]:
        """Yield what a person sees, until the session ends or they leave."""
        return self.audience.attach(read_only=read_only, history=history, allowed=allowed, raw=raw)

    def _answer(self, replies: bytes, *, ended: bool) -> None:
        if ended:
            self._replies.drop()
        if replies:
            self._replies.give(replies, hold=self._cells.active is not None)
        self.stream.acknowledge()

    def _program_gone(self) -> None:
        """The program ended; the keeper tells how, if it can."""
        if self.state is not State.RUNNING:
            return
        if not self.knows_exit():
            self.end(Ending())
            return
        loop = asyncio.get_running_loop()
        loop.call_later(_EXIT_CODE_SECONDS, lambda: self.end(Ending()))

    def end(self, ending: Ending) -> None:
        """Note how the program ended, after everything it wrote was read. The first word counts."""
        if self.state is not State.RUNNING:
            return
        for _ in range(_LAST_BATCHES):
            if not self._take():
                break
        self.ending = ending
        self._cells.ended(ending)  # before the waits: some of them wait for a cell
        self._close_input(State.EXITED)
        self.audience.end("exited", {"exit_code": ending.code, "signal": ending.signal})
        self.stream.checkpoint()

    def _close_input(self, state: State) -> None:
        self.state = state
        self._writer.close()
        if self._watch is not None:
            self._watch.close()
        self._waits.ended()

    # -- input

    async def perform(self, payload: bytes) -> bytes:
        """Send another request down the road; the host says which."""
        return await self.road(payload)

    async def _input(self, data: bytes, *, typed: Sequence[str], entered: bool) -> int:
        if self.state is not State.RUNNING:
            raise self._ended("nothing can be typed into it")
        self.stream.note_input()
        shown = typed if tty.echoes(self._master) else ()
        self._cells.touched(entered=entered)
        cursor = self.stream.cursor
        # The program has work now; what follows we know of the moment before, until we read again.
        rest = self._writer.begin(data)
        self._mark = Mark(
            place=self.stream.log.committed + len(self.stream.transcript.pending),
            typed=shown,
            entered=entered,
            marks_seen=self.stream.marks_seen,
            screen=self.stream.emulator.text().split("\n"),
        )
        self._waits.moved(self._mark)
        self._last_input = time.monotonic()
        by = dict(principal.acting.get())
        self.audience.emit("input", {"by": by, "bytes": len(data), "cursor": cursor})
        await self._writer.finish(rest, total=len(data))
        return cursor

    def _ended(self, consequence: str) -> SessionEnded:
        if self.diagnosis is not None:
            return SessionEnded(f"session {self.spec.name} is lost: {self.diagnosis}")
        return obituary(self.spec.name, self.ending or Ending(), consequence)

    # -- eyes

    def look(self) -> Screen:
        """Render the screen."""
        return self._eyes.look(version=self.stream.version, state=self.state, active=self._active())

    def changes(self, since: str) -> Changes:
        """Return what differs from an earlier screen."""
        return self._eyes.changes(since)

    def find(self, text: str) -> list[Place]:
        """Return where text stands on the screen."""
        return self._eyes.find(text)

    async def render(self, form: Form, *, scrollback: int) -> str:
        """Return the screen in another form."""
        return await self._eyes.render(form, scrollback=scrollback)

    def _active(self) -> table.Entry | None:
        group = tty.foreground(self._master) if self.state is State.RUNNING else None
        if group is None or group == self.root.pid:
            return None
        return table.entry(group)

    def cwd(self) -> str | None:
        """Return where the program in front is."""
        return table.directory(tty.foreground(self._master) or self.root.pid)

    def read(
        self, *, since: int | None, tail: int | None, max_bytes: int, grep: str | None
    ) -> Reading:
        """Return one page of the transcript."""
        if tail is not None and since is None:
            found = pages.tail(self.stream, lines=tail, limit=max_bytes)
        else:
            whole = grep is not None
            found = pages.page(self.stream, since=since, limit=max_bytes, whole_lines=whole)
        if grep is not None:
            found = pages.matching(found, compiled(grep))
        ending = self.ending or Ending()
        return Reading(
            text=found.text,
            cursor=found.cursor,
            gap=found.gap,
            more=found.more,
            state=self.state,
            exit_code=ending.code,
            signal=ending.signal,
        )

    # -- waits

    async def wait(
        self, *, until: Sequence[str], fail_on: Sequence[str], patience: float, since: int | None
    ) -> Observation:
        """Return what was seen when a condition came true."""
        mark = self._mark if since is None else self._mark_at(since)
        waiting = self._waits.wait(
            until=until,
            fail_on=fail_on,
            mark=mark,
            since=max(self._last_input, self._last_output),
            ended=self.state is not State.RUNNING,
        )
        try:
            async with asyncio.timeout(patience):
                met = await waiting
        except ProgramEnded:
            error = self._ended(f"{_shown(until)} can no longer come true")
            error.details["observation"] = self._observed(None)
            raise error from None
        except TimeoutError:
            raise WaitTimeout(
                f"timed out waiting for {_shown(until)} in session {self.spec.name}",
                id=self.spec.name,
                observation=self._observed(None),
            ) from None
        return self._observed(met)

    def _mark_at(self, cursor: int) -> Mark:
        """Return a mark in the past; at or before the last input its echo is no answer either."""
        place = self.stream.log.place(cursor)
        if place <= self._mark.place:
            return dataclasses.replace(self._mark, place=place)
        return Mark(place=place, screen=self.stream.emulator.text().split("\n"))

    def _observed(self, met: Met | None) -> Observation:
        end = pages.page(
            self.stream, since=max(0, self.stream.cursor - 4 * _TAIL_CHARACTERS), limit=1 << 20
        )
        ending = self.ending or Ending()
        return Observation(
            screen=self.look(),
            stdout_tail=end.text[-_TAIL_CHARACTERS:],
            stderr_tail="",
            exit_status=ending.status,
            files_changed=[],
            git_snapshot=None,
            process_snapshot=self._processes(),
            matched=met.condition if met else "",
            failed=met.failing if met else False,
            match=met.found[:_TAIL_CHARACTERS] if met else None,
            cursor=self.stream.cursor,
            id=self.spec.name,
        )

    def _processes(self) -> ProcessSnapshot | None:
        found = [table.described(entry) for entry in table.family(self.root.pid)]
        return ProcessSnapshot(root_pid=self.root.pid, processes=found) if found else None

    # -- control

    def resize(self, *, rows: int, cols: int) -> None:
        """Resize the screen first: what the program redraws must meet the new one."""
        self.stream.resize(rows=rows, cols=cols)
        with contextlib.suppress(OSError):
            tty.set_size(self._master, rows=rows, cols=cols)

    def signal(self, number: int, *, everyone: bool) -> list[int]:
        """Signal the foreground group, or every process of the session."""
        if self.state is not State.RUNNING:
            raise self._ended("there is nothing to signal")
        group = tty.foreground(self._master)
        targets = tree.members([self.root])
        if not everyone:
            targets = [found for found in targets if found.group == group]
        return [found.pid for found in targets if tree.send(found, number)]

    async def kill(self) -> Killed:
        """End the whole tree and say what is left of it."""
        killed = await tree.kill_trees([self.root])
        await self._exit_known()
        ending = self.ending or Ending()
        return Killed(
            ended=killed.ended,
            survivors=killed.survivors,
            exit_code=ending.code,
            signal=ending.signal,
        )

    async def _exit_known(self) -> None:
        """Give the keeper a moment to tell the exit code before the session is forgotten."""
        if self.state is State.RUNNING:
            with contextlib.suppress(ProgramEnded, TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._waits.wait(
                        until=["exit"], fail_on=[], mark=self._mark, since=0.0, ended=False
                    )

    def describe(self) -> Described:
        """Say how the session is, checked against the system now."""
        if self.state is State.RUNNING and not self._lives():
            self._program_gone()
        rows, cols = self.stream.emulator.rows, self.stream.emulator.cols
        now = time.monotonic()
        return Described(
            spec=msgspec.structs.replace(self.spec, rows=rows, cols=cols),
            pid=self.root.pid,
            birth=self.root.birth,
            state=self.state,
            ending=self.ending,
            cursor=self.stream.cursor,
            attached=self.audience.attached,
            diagnosis=self.diagnosis,
            quiet_ms=int((now - max(self._last_input, self._last_output)) * 1000),
        )

    def _lives(self) -> bool:
        found = table.entry(self.root.pid)
        return found is not None and found.alive and self.root.birth in (None, found.birth)

    def close(self) -> None:
        """Let go of the terminal and free everything; the files stay."""
        asyncio.get_running_loop().remove_reader(self._master)
        self._writer.close()
        self._replies.close()
        self.audience.close()
        self._cells.close()
        if self._watch is not None:
            self._watch.close()
        self._waits.ended()
        self.stream.close()
        os.close(self._master)


def _shown(conditions: Sequence[str]) -> str:
    return " or ".join(debug_form(condition) for condition in conditions)
