"""A program with shell integration on a real PTY, its marks and the text between them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from agent_pty.core.mark import Kind, LineReport, Mark, MarkScanner, pieces
from agent_pty.core.transcript import Transcript
from agent_pty.emulator import Emulator
from agent_pty.integration import integrate
from agent_pty.keeper.program import Program, start

NONCE = "5eed5eed5eed5eed"
_SECONDS = 20.0


# The key that makes a shell say what stands on its line.
ASK = b"\x1e"


class Marked:
    """Starts *argv* integrated, with *home* as HOME and nothing of the caller's start-up files."""

    def __init__(
        self,
        argv: Sequence[str],
        home: Path,
        env: Mapping[str, str] | None = None,
        *,
        rows: int = 24,
        cols: int = 80,
    ) -> None:
        if os.path.basename(argv[0]) == "fish":  # without it, fish reads every manual page
            pages = home / ".local/share/fish/generated_completions"
            pages.mkdir(parents=True, exist_ok=True)
        own = {"HOME": str(home), "HISTFILE": "", "PS1": "$ ", **(env or {})}
        self.program, injected = integrate(argv, own, NONCE)
        self.started = start(
            Program(
                argv=injected.argv,
                cwd=str(home),
                env=injected.env,
                rows=rows,
                cols=cols,
                secret=injected.secret,
            )
        )
        os.set_blocking(self.started.master, False)
        self.raw = b""
        # Each mark, with the place in the text where it stood and the unfinished line before it.
        self.marks: list[tuple[Mark, int, bytes]] = []
        self.emulator = Emulator(rows=rows, cols=cols)
        self.scanner = MarkScanner(NONCE)
        self._end: tuple[Mark, int, bytes] | None = None
        self._transcript = Transcript(cols=cols)
        self._text = b""
        self._taken = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def screen(self) -> str:
        """What a person sees."""
        return self.emulator.text()

    @property
    def transcript(self) -> str:
        """All text so far, the unfinished line included."""
        return (self._text + self._transcript.pending).decode()

    def until(self, *kinds: Kind) -> tuple[Mark, int, bytes]:
        """Return the next mark of one of *kinds*, in order; marks before it are passed over."""
        while True:
            while self._taken < len(self.marks):
                found = self.marks[self._taken]
                self._taken += 1
                if found[0].kind in kinds:
                    return found
            self.read()

    def until_text(self, text: str) -> None:
        """Read until the transcript contains *text*."""
        while text not in self.transcript:
            self.read()

    def read(self) -> None:
        """Take what the program writes next."""
        ready, _, _ = select.select([self.started.master], [], [], _SECONDS)
        assert ready, f"nothing more came; the screen is:\n{self.screen}\nraw: {self.raw[-600:]!r}"
        try:
            data = os.read(self.started.master, 65536)
        except OSError as error:
            raise AssertionError(f"the program ended; it wrote: {self.raw[-600:]!r}") from error
        self.raw += data
        self.emulator.feed(data)
        self.write(self.emulator.take_replies())
        for piece, mark in pieces(data, self.scanner.feed(data)):
            self._text += self._transcript.feed(piece)
            if mark is not None:
                self._place(mark)

    def _place(self, mark: Mark) -> None:
        """Note a mark; where the output ended is where the mark E stood, if one did."""
        place: tuple[int, bytes] = (len(self._text), self._transcript.pending)
        if mark.kind == "E":
            self._end = (mark, *place)
            return
        if mark.kind == "D" and self._end is not None:
            ended, place = self._end[0], self._end[1:]
            code = ended.code if mark.code is None else mark.code
            mark = Mark(kind="D", number=mark.number, code=code)
        self._end = None
        self.marks.append((mark, place[0], place[1]))

    def write(self, data: bytes) -> None:
        """Type bytes as they are."""
        while data:
            with contextlib.suppress(BlockingIOError):
                data = data[os.write(self.started.master, data) :]

    def type(self, text: str) -> None:
        """Type text and Enter; as one paste if the program asks for that."""
        data = text.encode()
        if self.emulator.modes()["bracketed_paste"]:
            data = b"\x1b[200~" + data + b"\x1b[201~"
        self.write(data.replace(b"\n", b"\r") + b"\r")

    def ready(self) -> None:
        """Wait until the program reads a command."""
        self.until("B")

    def command(self, text: str) -> tuple[str, int | None]:
        """Run one command at the prompt; return exactly its output, and its status."""
        self.ready()
        before = len(self._text)
        self.type(text)
        mark, place, rest = self.until("C", "D")
        begun = place
        if mark.kind == "C":
            begun += len(rest)
            mark, place, rest = self.until("D")
        else:  # no mark says where the output begins: it does behind the echo of the line
            begun = self._text.index(b"\n", before) + 1
        output = self._text[begun:place] + rest[max(0, begun - place) :]
        return output.decode(), mark.code

    @property
    def last_line(self) -> str:
        """The last line that is on the screen: the prompt, when the program is at it."""
        return self.screen.rstrip("\n").rpartition("\n")[2]

    def nest(self, line: str, question: bytes) -> None:
        """Start another shell, whose prompt is `in> `, and see it answer *question* with 2."""
        self.ready()
        self.type(line)
        self.until("C")
        self.until_text("in> ")
        self.write(question + b"\r")
        self.until_text("inner-2")

    def close(self) -> None:
        """End the program and let go of its terminal."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.started.pid, signal.SIGKILL)
        os.waitpid(self.started.pid, 0)
        os.close(self.started.master)
        os.close(self.started.report)
        self.emulator.close()


def asked(shell: Marked) -> LineReport:
    """Return what a shell says of its line, once it has said it."""
    while not (reports := shell.scanner.take_reports()):
        shell.read()
    return reports[-1]
