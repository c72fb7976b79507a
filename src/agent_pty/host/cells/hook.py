"""Hook mode: a program of the user's reads the output line by line and exits at the prompt."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence

from agent_pty.core.mark import PlacedMark
from agent_pty.core.tty_state import Verdict
from agent_pty.errors import SpawnFailed
from agent_pty.host.cells.capture import Capture
from agent_pty.host.cells.cell import Result
from agent_pty.host.cells.foreground import Foreground
from agent_pty.host.cells.output_range import OutputRange

_PIECE = 256 * 1024


def _started(path: str) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen([path], stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
    except OSError as error:
        raise SpawnFailed(f"hook {path}: {error.strerror}") from error


class Hook:
    """The end is when the hook exits; the piece it saw last is the prompt and no output."""

    def __init__(self, capture: Capture, path: str) -> None:
        self._capture = capture
        self._process = _started(path)
        assert self._process.stdin is not None  # noqa: S101  for the type checker
        self._pipe = self._process.stdin.fileno()
        os.set_blocking(self._pipe, False)
        self._given: int | None = None  # up to where lines were given
        self._last: OutputRange | None = None  # the output before the piece given last
        self._line = b""  # the unfinished line as it was given

    def output(self, marks: Sequence[PlacedMark]) -> Result | None:
        """Give the lines that are finished."""
        capture = self._capture
        capture.note(marks)
        if self._given is None:
            if capture.start > capture.end:
                return None  # the echo is not over yet
            self._given = capture.start
        data = capture.read(self._given, _PIECE)
        data = data[: data.rfind(b"\n") + 1]
        for line in data.splitlines(keepends=True):
            self._give(capture.upto(self._given), line)
            self._given += len(line)
        return self._ended()

    def observed(self, verdict: Verdict, seen: Foreground, same: int) -> Result | None:
        """Nothing more comes for now: give the unfinished line too, as it may be the prompt."""
        del verdict, seen, same
        capture = self._capture
        ended = self.output(())
        if ended is None and self._given is not None and capture.line != self._line:
            self._line = capture.line
            self._give(capture.upto(capture.end), capture.line)
        return ended or self._ended()

    def _give(self, before: OutputRange, piece: bytes) -> None:
        """Give a piece without the blanks around it; an empty one is none."""
        piece = piece.strip()
        if not piece:
            return
        self._last = before
        with contextlib.suppress(BrokenPipeError, BlockingIOError):
            os.write(self._pipe, piece + b"\n")

    def _ended(self) -> Result | None:
        if self._process.poll() is None:
            return None
        output = self._last or OutputRange(start=0, end=0)
        return self._capture.done(output, "hook")

    def close(self) -> None:
        """End the hook if it is still there."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()  # type: ignore[union-attr]
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
