"""A person at a terminal of their own, who runs `agent-pty` in it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from typing import Any

from agent_pty.emulator import Emulator
from support.agent import Agent

_SECONDS = 60.0
_CHUNK = 1 << 16


class Human:
    """A real pty whose other end is a terminal emulator that answers what it is asked."""

    def __init__(self, agent: Agent, *words: str, rows: int = 24, cols: int = 80) -> None:
        self.screen = Emulator(rows=rows, cols=cols)
        self.seen = b""
        self.answered = b""
        self._master, self._slave = os.openpty()
        self.resize(rows=rows, cols=cols)
        self.before = self.attributes()
        # It has this terminal as its own, so that the kernel tells it of a new size.
        argv = ["setsid", "--ctty", sys.executable, "-m", "agent_pty.cli.main", *words]
        end = self._slave
        self.process = subprocess.Popen(argv, env=agent.env, stdin=end, stdout=end, stderr=end)

    def attributes(self) -> list[Any]:
        """Return how the terminal is set: echo, line editing, signals, speed."""
        return termios.tcgetattr(self._slave)

    @property
    def raw(self) -> bool:
        """Whether keys go to the program as they are, without echo."""
        return not self.attributes()[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def resize(self, *, rows: int, cols: int) -> None:
        """Change the size of the window."""
        self.screen.resize(rows=rows, cols=cols)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, keys: bytes) -> None:
        """Type."""
        os.write(self._master, keys)

    def sees(self, text: str) -> None:
        """Return once *text* is on the screen."""
        self.until(lambda: text in self.screen.text())

    def gets(self, data: bytes) -> None:
        """Return once *data* has come from the program."""
        self.until(lambda: data in self.seen)

    def saw(self, data: bytes) -> bool:
        """Whether *data* has come from the program so far."""
        while self._take(0):
            pass
        return data in self.seen

    def until(self, enough: Callable[[], bool]) -> None:
        """Look on until *enough* was seen."""
        deadline = time.monotonic() + _SECONDS
        while not enough():
            left = deadline - time.monotonic()
            assert left > 0, f"never seen; the screen is {self.screen.text()!r}"
            self._take(left)

    def _take(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        data = os.read(self._master, _CHUNK)
        self.seen += data
        self.screen.feed(data)
        if replies := self.screen.take_replies():
            self.answered += replies
            self.type(replies)
        return True

    def leaves(self) -> int:
        """Return the exit status of the program, after all it wrote was read."""
        ended = os.pidfd_open(self.process.pid)
        try:
            while ended not in select.select([self._master, ended], [], [], _SECONDS)[0]:
                self._take(0)
            while self._take(0):
                pass
        finally:
            os.close(ended)
        return self.process.wait(_SECONDS)

    def close(self) -> None:
        """End what is left."""
        self.process.kill()
        self.process.wait(_SECONDS)
        os.close(self._master)
        os.close(self._slave)


@contextlib.contextmanager
def human(agent: Agent, *words: str, rows: int = 24, cols: int = 80) -> Iterator[Human]:
    """Sit down, run one command, and tidy up."""
    person = Human(agent, *words, rows=rows, cols=cols)
    try:
        yield person
    finally:
        person.close()
