"""What the shell of a session exports at its prompt: a fork begins with the same variables.

The key that asks for the line also makes the shell write its environment into a file, if that file
is there. Nothing of it is shown, recorded or kept.
"""

from __future__ import annotations

import contextlib
import os

from agent_pty.host.cells.line_check import LineQuestion
from agent_pty.host.cells.readiness import Readiness
from agent_pty.integration.dialect import dialect
from agent_pty.process.tree import INSTANCE_VARIABLE

# The shell starts a program for it; on a machine that is busy that takes its time.
_SECONDS = 5.0
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Exports:
    """Asks the shell, which knows the path of the file in the session's *directory*."""

    def __init__(
        self, readiness: Readiness, question: LineQuestion, directory: str, *, instance: str
    ) -> None:
        self._readiness = readiness
        self._question = question
        self._path = f"{directory}/exports"
        self._mark = f"{INSTANCE_VARIABLE}={instance}".encode()
        self._remove()  # a host before us may have died while it asked

    async def ask(self) -> list[bytes] | None:
        """Return `NAME=value` for each; None: the shell is not at its prompt, or does not say."""
        if self._readiness.ready != "marks" or not dialect(self._readiness.program).answers:
            return None
        self._remove()
        os.close(os.open(self._path, _FLAGS, 0o600))
        try:
            answered = await self._question.ask(_SECONDS)
            found = self._written()
        finally:
            self._remove()
        # A shell of an earlier build answers, too, but does not write.
        return found if answered is not None and self._mark in found else None

    def _written(self) -> list[bytes]:
        with open(self._path, "rb") as file:
            return file.read().split(b"\0")[:-1]

    def _remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
