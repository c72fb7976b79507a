"""Type a cell's code so that it runs as one unit."""

from __future__ import annotations

from dataclasses import dataclass

from agent_pty.core.repeat import ENTERS
from agent_pty.host.terminal.input import Input
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.integration.dialect import dialect
from agent_pty.store import atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What will be typed; *lines* are those whose echo will show.

    With *pressed*, these keys; otherwise a paste of the lines, and Enter.
    """

    lines: list[str]
    pressed: bytes | None = None


class Submitter:
    """Knows how the session's program takes code; *directory* is for what cannot be typed."""

    def __init__(self, given: Input, *, program: str | None, directory: str) -> None:
        self._input = given
        self._dialect = dialect(program)
        self._file = f"{directory}/code"

    def prepare(self, code: str, *, marked: bool, frame: str) -> Submission:
        """Decide how to type *code*; what a marked program cannot take goes into a file."""
        code = code.lstrip()
        if frame == "repeat":
            return _pressed(code + "\n" * ENTERS)
        if self._input.bracketed:
            code = code.rstrip("\n")  # a paste ends where its text ends; Enter runs it
        if marked and not self._fits(code):
            code = self._loading(code)
        return Submission(lines=code.split("\n"))

    async def type(self, submission: Submission) -> None:
        """Type it."""
        if submission.pressed is not None:
            await self._input.press(submission.pressed, kind=InputKind.CELL)
        else:
            code = "\n".join(submission.lines)
            await self._input.paste(code, enter=True, kind=InputKind.CELL)

    def _fits(self, code: str) -> bool:
        if self._dialect.from_file(code):
            return False
        if self._dialect.pastes and self._input.bracketed:
            return True
        return self._dialect.load is None or self._dialect.is_simple(code)

    def _loading(self, code: str) -> str:
        """Put the code into a file; return the line that runs it."""
        text = self._dialect.text.format(code=code)
        atomic.replace(self._file, text.encode(), durable=False)
        return (self._dialect.load or "").format(path=self._file)


def _pressed(code: str) -> Submission:
    """Press what a person would, Enter by Enter: in a paste they would be text."""
    data = code.replace("\n", "\r").encode() + b"\r"
    return Submission(lines=code.rstrip("\n").split("\n"), pressed=data)
