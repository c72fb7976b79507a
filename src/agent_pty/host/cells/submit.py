"""Type a cell's code so that it runs as one unit."""

from __future__ import annotations

from agent_pty.core.repeat import ENTERS
from agent_pty.host.terminal.input import Hands
from agent_pty.integration.dialect import dialect
from agent_pty.store import atomic


class Typist:
    """Knows how the session's program takes code; *directory* is for what cannot be typed."""

    def __init__(self, hands: Hands, *, program: str | None, directory: str) -> None:
        self._hands = hands
        self._dialect = dialect(program)
        self._file = f"{directory}/code"

    async def type(self, code: str, *, marked: bool, frame: str) -> list[str]:
        """Type *code* and Enter; return the lines whose echo will show."""
        code = code.lstrip()
        if frame == "repeat":
            return await self._repeat(code + "\n" * ENTERS)
        if self._hands.bracketed:
            code = code.rstrip("\n")  # a paste ends where its text ends; Enter runs it
        if marked and not self._fits(code):
            code = self._loading(code)
        await self._hands.paste(code, enter=True)
        return code.split("\n")

    async def _repeat(self, code: str) -> list[str]:
        """Press what a person would, Enter by Enter: in a paste they would be text."""
        await self._hands.press(code.replace("\n", "\r").encode() + b"\r")
        return code.rstrip("\n").split("\n")

    def _fits(self, code: str) -> bool:
        if self._dialect.pastes and self._hands.bracketed:
            return True
        return self._dialect.load is None or self._dialect.is_simple(code)

    def _loading(self, code: str) -> str:
        """Put the code into a file; return the line that runs it."""
        text = self._dialect.text.format(code=code)
        atomic.replace(self._file, text.encode(), durable=False)
        return (self._dialect.load or "").format(path=self._file)
