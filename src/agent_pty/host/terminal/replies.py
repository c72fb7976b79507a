"""What the terminal answers to programs that ask it: who it is, where the cursor stands.

Rule of the file: an answer that comes when the asking command has ended would be taken by the
shell for something typed. So while a cell runs an answer waits a moment, and the end of the
command takes it back.
"""

from __future__ import annotations

import asyncio
import contextlib

from agent_pty.errors import SessionEnded
from agent_pty.host.terminal.writer import Writer

# Longer than a shell takes to come back from a command that only asked; no program notices.
_MOMENT = 0.005


class Replies:
    """Gives answers to the program, at once or after a moment."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._held = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def give(self, data: bytes, *, hold: bool) -> None:
        """Answer; with *hold*, only if the command does not end in the next moment."""
        self._held += data
        if not hold:
            self._write()
        elif self._timer is None and self._held:
            self._timer = asyncio.get_running_loop().call_later(_MOMENT, self._write)

    def drop(self) -> None:
        """The command has ended: nobody waits for the answers."""
        self._held.clear()
        self.close()

    def _write(self) -> None:
        self.close()
        held, self._held = bytes(self._held), bytearray()
        if held:
            with contextlib.suppress(SessionEnded):
                self._writer.answer(held)

    def close(self) -> None:
        """Give no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
