"""A real terminal whose program is the test itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import tty
from collections.abc import Iterator
from pathlib import Path

from agent_pty.core.mark import PlacedMark
from agent_pty.host.events import Event, EventLog, Signal
from agent_pty.host.evidence.cleaning import Cleaner
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.terminal.device import PtyDevice
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.ops.model import Spec
from agent_pty.process.tree import Root
from agent_pty.store.journal import Journal
from support.spool import new_ring

NONCE = "5eed"


class Heard:
    """A listener that notes everything."""

    def __init__(self) -> None:
        self.events: list[Event | Signal] = []

    def notice(self, event: Event | Signal) -> None:
        """Note one event."""
        self.events.append(event)


class Forgetful:
    """Remembers nothing that was typed."""

    typed = (0, b"")
    key_lines = 0

    def note_typed(self, held: bytes, key_lines: int) -> None:
        """Forget it."""


def recorder(directory: Path) -> Recorder:
    """Return what records a session in a directory of the test."""
    spec = Spec(
        instance="test",
        name="test",
        argv=["test"],
        workspace="/",
        env_names=[],
        rows=24,
        cols=80,
        started_at="",
    )
    journal = Journal(str(directory), name="test", instance="test")
    return Recorder(journal, spec, Cleaner(), lambda _journal: None, Forgetful())


class Program:
    """The program's end of a terminal; `terminal` is the other end, as a session has it."""

    def __init__(self, directory: Path, *, rows: int = 24, cols: int = 80) -> None:
        self.output = TerminalOutput.create(
            str(directory), new_ring(), rows=rows, cols=cols, keep=1 << 30, nonce=NONCE
        )
        self.master, self._slave = os.openpty()
        os.set_blocking(self.master, False)
        os.set_blocking(self._slave, False)
        self.heard = Heard()
        self.log = EventLog()
        self.log.add(self.heard)
        root = Root(pid=os.getpid(), birth=None, instance="test", terminal=None, keeper=None)
        self.recorder = recorder(directory)
        self.terminal = Terminal(
            "test",
            self.recorder,
            device=PtyDevice(self.master),
            root=root,
            output=self.output,
            log=self.log,
        )

    def raw(self) -> None:
        """Take what is typed as it is, without echo."""
        tty.setraw(self._slave)

    def writes(self, data: bytes) -> None:
        """Write to the terminal, which may take only some of it; nobody reads it by that."""
        os.write(self._slave, data)

    def says(self, text: str) -> list[PlacedMark]:
        """Write, and let the terminal's output read everything; return the marks that came."""
        data = text.encode()
        for start in range(0, len(data), 2048):
            part = data[start : start + 2048]
            os.write(self._slave, part)
            left = len(part) + part.count(b"\n")  # the terminal writes it as a line end
            while left > 0:  # the kernel may give it in many small pieces
                left -= self.output.take(self.master).count
        return self.output.take_marks()

    def reads(self) -> bytes:
        """Return what was typed so far."""
        data = b""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self._slave, 1 << 16):
                data += piece
        return data

    async def read_until(self, wanted: bytes) -> bytes:
        """Return what was typed once *wanted* is in it."""
        loop, data, arrived = asyncio.get_running_loop(), b"", asyncio.Event()
        loop.add_reader(self._slave, arrived.set)
        try:
            async with asyncio.timeout(30):
                while wanted not in data:
                    await arrived.wait()
                    arrived.clear()
                    data += self.reads()
        finally:
            loop.remove_reader(self._slave)
        return data

    def close(self) -> None:
        """Free everything."""
        os.close(self.master)
        os.close(self._slave)
        self.output.close()
        self.recorder.close()


@contextlib.contextmanager
def program(*, rows: int = 24, cols: int = 80) -> Iterator[Program]:
    """Open a terminal with nothing on it."""
    with tempfile.TemporaryDirectory() as directory:
        opened = Program(Path(directory), rows=rows, cols=cols)
        try:
            yield opened
        finally:
            opened.close()
