"""What a terminal is made of: the one place that knows whether it is a PTY of ours or a tmux pane.

Rule of this file: whatever is above `Terminal` (screen, waits, cells, viewers, evidence, gate) must
not know which kind it is.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Protocol

from agent_pty.host.terminal import tty

if TYPE_CHECKING:
    from agent_pty.host.terminal.terminal import Terminal


class Device(Protocol):
    """The descriptors of a terminal, and what is asked of it beside reading and writing."""

    @property
    def fd(self) -> int:
        """What is read and written, and what the keeper holds a duplicate of."""

    @property
    def tty(self) -> int:
        """What the kernel is asked through about modes and echo."""

    @property
    def answers_queries(self) -> bool:
        """Whether something else answers the program's questions about its terminal."""

    @property
    def resizable(self) -> bool:
        """Whether we may change its size."""

    @property
    def outlives_us(self) -> bool:
        """Whether the program runs on when all our processes have ended."""

    @property
    def note(self) -> str | None:
        """What is wrong with it at present, for people."""

    def foreground(self) -> int | None:
        """Return the process group that owns the keyboard."""

    def refuses_output(self) -> bool | None:
        """Whether the program cannot write now; None if that is not known."""

    def set_size(self, *, rows: int, cols: int) -> None:
        """Change the size; the foreground program is told."""

    def new_size(self) -> tuple[int, int] | None:
        """Return rows and columns if somebody else has changed them."""

    def batch_read(self, data: bytes) -> None:
        """A batch was read."""

    async def taken(self) -> None:
        """Return when what was written is no longer ours; raise if nobody takes it."""

    def begin(self, terminal: Terminal) -> None:
        """Reading begins."""

    def investigate(self, terminal: Terminal) -> bool:
        """The stream or the program has ended: False if others find out how.

        If True, the terminal will be told: to end, that it is lost, or to go on.
        """

    async def remove(self) -> None:
        """The session was killed: remove what is left of its terminal."""

    def close(self) -> None:
        """Free it; the program goes on."""


class PtyDevice:
    """The master of a PTY that the keeper has made. How its program ends the keeper reports."""

    answers_queries = False
    resizable = True
    outlives_us = False
    note = None

    def __init__(self, master: int) -> None:
        self.fd = master
        self.tty = master

    def foreground(self) -> int | None:
        """Return the process group that owns the keyboard."""
        return tty.foreground(self.fd)

    def refuses_output(self) -> bool | None:
        """Whether the program cannot write now; None if that is not known."""
        return tty.refuses_output(self.fd)

    def set_size(self, *, rows: int, cols: int) -> None:
        """Change the size, unless the terminal is gone."""
        with contextlib.suppress(OSError):
            tty.set_size(self.fd, rows=rows, cols=cols)

    def new_size(self) -> None:
        """Nobody else can change the size without our seeing it: it is set by us."""

    def batch_read(self, data: bytes) -> None:
        """The kernel holds back a program that writes faster than we read."""

    async def taken(self) -> None:
        """What the kernel has accepted is the program's."""

    def begin(self, terminal: Terminal) -> None:
        """Nothing else must be started."""

    def investigate(self, terminal: Terminal) -> bool:
        """Leave it to the keeper."""
        del terminal
        return False

    async def remove(self) -> None:
        """The keeper closes its duplicate."""

    def close(self) -> None:
        """Close the master."""
        os.close(self.fd)
