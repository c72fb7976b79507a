"""A recording of a terminal whose output the test gives, and what can be read of it."""

from __future__ import annotations

import os
from pathlib import Path

from agent_pty.core.evidence.cast import CastReader
from agent_pty.core.evidence.event import Action
from agent_pty.host.events import Batch, Event, Resized, Signal
from agent_pty.host.evidence.past_screen import Wanted, past_screen
from agent_pty.host.evidence.recording import Place, Recording
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.ops.model import Spec
from agent_pty.ops.past_screen import PastScreen
from agent_pty.store import recording as files
from agent_pty.store.ring import Ring
from support.spool import new_ring

SPEC = Spec(
    instance="one",
    name="work",
    argv=["sh"],
    workspace="/",
    env_names=[],
    rows=10,
    cols=40,
    started_at="",
)


class Recorded:
    """One terminal and its recording, in a directory."""

    def __init__(self, directory: Path, *, budget: int = 1 << 30, known: bytes = b"") -> None:
        self.directory = directory
        self.recordings = directory / "recordings" / "one"
        self.noted: list[Action] = []
        self._budget = budget
        self._known = (known,) if known else ()
        self.ring = new_ring()
        (directory / "files").mkdir()
        self.output = TerminalOutput.create(
            str(directory / "files"), self.ring, rows=10, cols=40, keep=1 << 30, nonce="5eed"
        )
        self.recording = self._new()
        self.recording.start(recovered=False)
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)

    def _new(self) -> Recording:
        return Recording(
            SPEC,
            self.output,
            Place(directory=str(self.recordings), budget=self._budget),
            known=self._known,
            note=lambda action, _counts: self.noted.append(action),
            clean=lambda text: text,
        )

    def show(self, data: bytes, *, recorded: bool = True) -> None:
        """Let the terminal write something; if not *recorded*, the host dies before that."""
        for at in range(0, len(data), 32_768):
            os.write(self._writer, data[at : at + 32_768])
            taken = self.output.take(self._reader)
            if recorded:
                self.notice(Batch(data=taken.data, marks=(), replies=b""))

    def notice(self, event: Event | Signal) -> None:
        """Let something else happen."""
        self.recording.notice(event)

    def resize(self, *, rows: int, cols: int) -> None:
        """Give the terminal another size."""
        self.notice(Resized(rows=rows, cols=cols))
        self.output.resize(rows=rows, cols=cols)

    def die(self) -> None:
        """Replace the host: another one reads the spool, and goes on with the recording."""
        self.recording.close()
        ring = Ring(self.ring.fd)
        self.output.close()
        self.ring = ring
        self.output, _ = TerminalOutput.recover(
            str(self.directory / "files"), ring, rows=10, cols=40, keep=1 << 30, nonce="5eed"
        )
        self.recording = self._new()
        self.recording.start(recovered=True)

    # -- what is there

    @property
    def names(self) -> list[str]:
        """The names of the segments."""
        return [os.path.basename(one.path) for one in files.segments(str(self.recordings))]

    def events(self) -> list[tuple[str, str]]:
        """Return code and text of everything that is in the segments."""
        found = []
        for segment in files.segments(str(self.recordings)):
            reader = CastReader(0)
            found += [reader.event(line)[1:] for line in files.read_events(segment)]
        return found

    def shown(self) -> str:
        """Return all output that is in the segments."""
        return "".join(text for code, text in self.events() if code == "o")

    def screen(self, monotonic_ns: int) -> PastScreen:
        """Return the screen of a moment."""
        wanted = Wanted(
            name="work",
            instance="one",
            directory=str(self.recordings),
            monotonic_ns=monotonic_ns,
            time=None,
            form="text",
        )
        return past_screen(wanted, self.recording.pending())

    def problem(self) -> str | None:
        """Return what is wrong with the files, by what the journal says of them."""
        marks = [
            {"type": str(one.__struct_config__.tag)}
            | {name: getattr(one, name) for name in one.__struct_fields__}
            for one in self.noted
        ]
        return files.problem(str(self.recordings), marks)

    def close(self) -> None:
        """Free everything."""
        self.recording.close()
        self.output.close()
        os.close(self._reader)
        os.close(self._writer)
