"""The terminal's replies to a program that queries it: what it is, where the cursor stands.

Rule of this file: a reply that arrives after the querying command has ended would be taken by
the shell for typed text. So while a cell runs, a reply waits a moment, and the end of the
command cancels it. It waits longer while the kernel edits the line: no program can read a reply
then, because a reply has no line end.
"""

from __future__ import annotations

import asyncio
import contextlib
import termios

from agent_pty.errors import SessionEnded
from agent_pty.host.events import Batch, CellChanged, Event, Signal
from agent_pty.host.principal import SYSTEM
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.terminal import Terminal

# Longer than a shell needs to return from a command that only sent a query; no program notices.
_MOMENT = 0.005
_LONGEST_MOMENT = 0.25
_CELL_RUNS_ON = ("waiting", "timeout")


class Replies:
    """A listener that gives replies to the program, at once or after a moment."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._held = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._pause = _MOMENT
        self._cell_runs = False
        self._sending: set[asyncio.Task[None]] = set()

    def notice(self, event: Event | Signal) -> None:
        """Take replies from output; learn from cells whether a command runs."""
        if isinstance(event, Batch):
            if any(placed.mark.kind == "D" for placed in event.marks):
                self._drop()
            self.give(event.replies, hold=self._cell_runs)
        elif isinstance(event, CellChanged) and event.status not in _CELL_RUNS_ON:
            self._cell_runs = event.status == "fired"

    def give(self, data: bytes, *, hold: bool) -> None:
        """Reply at once; with *hold*, only if the command does not end in the next moment."""
        self._held += data
        if self._held and not hold:
            self._send()
        elif not self._sending:
            output = self._terminal.output
            output.acknowledge(output.written)
        if self._held and self._timer is None:
            self._pause = _MOMENT
            self._arm()

    def _arm(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._due)

    def _due(self) -> None:
        """Reply now, unless nobody can read it before the command changes the terminal's mode."""
        if self._cell_runs and self._terminal.local_modes() & termios.ICANON:
            self._pause = min(_LONGEST_MOMENT, self._pause * 2)
            self._arm()
        else:
            self._send()

    def _drop(self) -> None:
        """The command has ended: nobody waits for its replies."""
        self._held.clear()
        self._stop_timer()

    def _send(self) -> None:
        self._stop_timer()
        held, self._held = bytes(self._held), bytearray()
        task = asyncio.get_running_loop().create_task(self._write(held))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _write(self, data: bytes) -> None:
        output = self._terminal.output
        place = output.written
        with contextlib.suppress(SessionEnded):
            await self._terminal.write(data, kind=InputKind.REPLY, by=SYSTEM)
        output.acknowledge(place)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """Give no more replies."""
        self._drop()
        for task in self._sending:
            task.cancel()
