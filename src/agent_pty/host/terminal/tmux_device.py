"""A tmux pane as a terminal: its pipe in the place of a PTY master (see `tmux/pipe.py`)."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import select
import socket
import struct
import termios
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from agent_pty.errors import Busy, TmuxFailed
from agent_pty.ops.model import Ending
from agent_pty.ops.tmux_place import TmuxPlace
from agent_pty.process import table
from agent_pty.tmux import gap_note, pane
from agent_pty.tmux.fence import Fence
from agent_pty.tmux.pane import Pane
from agent_pty.tmux.pipe import open_pipe
from agent_pty.tmux.server import TmuxServer

if TYPE_CHECKING:
    from agent_pty.host.terminal.terminal import Terminal

# tmux keeps in its own memory what we do not read. So a program that writes faster than we read is
# held back while more than this waits for us, until less than that does.
_TOO_MUCH = 64 * 1024
_LITTLE = 16 * 1024
_INT = struct.Struct("i")
# A server that takes no input for this long is stopped or hangs.
_TAKEN_SECONDS = 3.0
_LONGEST_LOOK = 0.05
_RETRY_SECONDS = 1.0
# For so long nothing may come of a pane whose program has ended before it is given up.
_END_SECONDS = 5.0


class Custodian(Protocol):
    """Whoever tells the keeper what it cannot see itself."""

    @property
    def instance(self) -> str:
        """The session that it is about."""

    async def reopened(self, fd: int) -> None:
        """There is another descriptor in the place of the one that the keeper holds."""

    async def ended(self, ending: Ending) -> None:
        """The program has ended."""


class TmuxDevice:
    """The pipe of a pane; *directory* is that of the session's files, *pipe* is ours now.

    *sockets* is what the names of sockets begin with, by which it is opened again.
    """

    answers_queries = True
    outlives_us = True

    def __init__(
        self,
        pipe: int,
        place: TmuxPlace,
        *,
        pid: int,
        directory: str,
        sockets: str,
        custodian: Custodian,
    ) -> None:
        self.fd = pipe
        self.tty = _open_tty(place.tty)
        self.resizable = not place.adopted
        self.note: str | None = None
        self._custodian = custodian
        self._place = place
        self._server = TmuxServer(place.socket, own=place.own)
        self._pid = pid
        self._directory = directory
        self._sockets = sockets
        self._held_back = False
        self._fence: Fence | None = None
        self._size: tuple[int, int] | None = None
        self._resizing = 0
        self._looking = False
        self._tasks: set[asyncio.Task[None]] = set()

    # -- facts

    def foreground(self) -> int | None:
        """Return the process group that owns the keyboard; the kernel tells it of the program."""
        return table.foreground(self._pid)

    def refuses_output(self) -> bool | None:
        """Whether the program cannot write now although we have read all that it wrote."""
        if self._held_back or _waiting(self.fd):
            return False
        poll = select.poll()
        poll.register(self.tty, select.POLLOUT)
        return not poll.poll(0)

    def new_size(self) -> tuple[int, int] | None:
        """Return rows and columns if a person has changed them in tmux."""
        size = _size(self.tty)
        if size is None or self._resizing or size == self._size:
            return None
        known, self._size = self._size, size
        return size if known is not None else None

    def set_size(self, *, rows: int, cols: int) -> None:
        """Have tmux change the size of the window."""
        self._size = (rows, cols)
        self._resizing += 1
        self._hold(self._resize(rows, cols))

    async def _resize(self, rows: int, cols: int) -> None:
        try:
            await pane.resize(self._server, self._place.pane, rows=rows, cols=cols)
        except TmuxFailed as error:
            self.note = str(error)
        finally:
            self._resizing -= 1

    # -- bytes

    def batch_read(self, data: bytes) -> None:
        """Hold a program back that writes faster than we read, or let it go on."""
        if self._fence is not None:
            self._fence.feed(data)
        waiting = _waiting(self.fd)
        if waiting > _TOO_MUCH and not self._held_back:
            self._set_flow(termios.TCOOFF)
        elif waiting < _LITTLE and self._held_back:
            self._set_flow(termios.TCOON)

    def _set_flow(self, action: int) -> None:
        self._held_back = action == termios.TCOOFF
        with contextlib.suppress(termios.error):
            termios.tcflow(self.tty, action)

    async def taken(self) -> None:
        """Return when tmux has read what was written."""
        deadline, pause = time.monotonic() + _TAKEN_SECONDS, 0.0005
        while unread := _unread(self.fd):
            if time.monotonic() > deadline:
                raise Busy(
                    f"the tmux server at {self._place.socket} has not taken {unread} bytes within "
                    f"{_TAKEN_SECONDS:g} s: is it stopped? They are typed when it goes on",
                    socket=self._place.socket,
                )
            await asyncio.sleep(pause)
            pause = min(_LONGEST_LOOK, 2 * pause)

    # -- what can happen to it

    def begin(self, terminal: Terminal) -> None:
        """Let the program write, and show what was missed while nobody read the pane."""
        self._set_flow(termios.TCOON)
        emulator = terminal.output.emulator
        self._size = (emulator.rows, emulator.cols)
        missed = gap_note.take(self._directory)
        if missed is not None:
            terminal.bridge_gap(missed.drawn, reason=missed.reason)

    def investigate(self, terminal: Terminal) -> bool:
        """Ask tmux what has happened to the pane."""
        if not self._looking:
            self._looking = True
            self._hold(self._look(terminal))
        return True

    async def _look(self, terminal: Terminal) -> None:
        try:
            begun = time.monotonic()
            while terminal.running:
                found, answered = await self._find()
                if answered and await self._settled(terminal, found):
                    return
                quiet = time.monotonic() - max(begun, terminal.active_at)
                if answered and quiet > _END_SECONDS and not self._program_lives():
                    await self._end(terminal, _ending(self._pid))
                    await self.remove()
                    return
                await asyncio.sleep(_LONGEST_LOOK if answered else _RETRY_SECONDS)
        finally:
            self._looking = False

    async def _find(self) -> tuple[Pane | None, bool]:
        """Return the pane, and whether tmux has answered at all."""
        try:
            found = await pane.find(self._server, self._place.pane, self._custodian.instance)
        except TmuxFailed as error:
            self.note = str(error)
            return None, False
        self.note = None
        return found, True

    async def _settled(self, terminal: Terminal, found: Pane | None) -> bool:
        """Tell the terminal what has happened; False: it is not yet clear."""
        if found is None and self._place.adopted and not self._program_lives():
            await self._end(terminal, Ending())
        elif found is None:
            why = "its pane, or the whole tmux server, was ended outside of agent-pty"
            terminal.lose(f"tmux session {self._place.session} is not running: {why}")
        elif found.dead:
            await self._end(terminal, self._ending_of(found))
            await self.remove()
        elif _ended(self.fd):
            return await self._reopened(terminal) and self._program_lives()
        elif not self._program_lives():
            return await self._ended_in_order(terminal)
        return True

    def _ending_of(self, dead: Pane) -> Ending:
        """Return how the program of a dead pane ended; in ours it is not the first process."""
        return Ending(code=dead.status, signal=dead.signal) if self._place.adopted else Ending()

    async def _ended_in_order(self, terminal: Terminal) -> bool:
        """End once all that the program wrote has come; False: not yet."""
        if self._place.adopted:  # tmux removes the pane, or says that it is dead
            return False
        if self._fence is None:
            fence = Fence()
            self._fence = fence if fence.write(self.tty) else None
        if self._fence is None or not self._fence.seen:
            return False
        await self._end(terminal, _ending(self._pid))
        await self.remove()
        return True

    def _program_lives(self) -> bool:
        entry = table.entry(self._pid)
        return entry is not None and entry.alive

    async def _end(self, terminal: Terminal, ending: Ending) -> None:
        terminal.end(ending)
        await self._custodian.ended(ending)

    async def _reopened(self, terminal: Terminal) -> bool:
        """Connect with the pane again: tmux, or somebody in it, has closed the pipe."""
        try:
            fd, drawn = await open_pipe(self._server, self._place.pane, self._sockets)
        except TmuxFailed as error:
            self.note = str(error)
            await asyncio.sleep(_RETRY_SECONDS)
            return False
        terminal.stop_reading()
        os.close(self.fd)
        self.fd = fd
        terminal.bridge_gap(drawn, reason="the pipe from the tmux pane was closed and opened again")
        terminal.read_on()
        await self._custodian.reopened(fd)
        return True

    async def remove(self) -> None:
        """End the pane, which shows what its dead program has left; never one that was adopted."""
        if not self._place.adopted:
            with contextlib.suppress(TmuxFailed):
                await pane.kill(self._server, self._place.pane)

    def _hold(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Let go of the pane; its program must not stay held back."""
        for task in self._tasks:
            task.cancel()
        self._set_flow(termios.TCOON)
        os.close(self.fd)
        os.close(self.tty)


def _ending(pid: int) -> Ending:
    """Return how a program ended that nobody has waited for."""
    status = table.exit_status(pid)
    if status is None:
        return Ending()
    code = os.waitstatus_to_exitcode(status)
    return Ending(code=code) if code >= 0 else Ending(signal=-code)


def _open_tty(path: str) -> int:
    """Open the program's end of the pane's terminal; without it nothing is known of its modes."""
    flags = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except OSError:
        return os.open(os.devnull, flags)


def _size(tty: int) -> tuple[int, int] | None:
    try:
        rows, cols, _, _ = struct.unpack("HHHH", fcntl.ioctl(tty, termios.TIOCGWINSZ, bytes(8)))
    except OSError:
        return None
    return (rows, cols) if rows and cols else None


def _waiting(fd: int) -> int:
    """Return how many bytes wait to be read."""
    return int(_INT.unpack(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0])


def _unread(fd: int) -> int:
    """Return how many bytes the other end of a socket has not read yet; 0 if it is gone."""
    try:
        return int(_INT.unpack(fcntl.ioctl(fd, termios.TIOCOUTQ, bytes(4)))[0])
    except OSError:
        return 0


def _ended(fd: int) -> bool:
    """Whether the other end of a socket is closed and everything was read."""
    with socket.socket(fileno=os.dup(fd)) as sock:
        try:
            return not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
