"""What stands on the line at a prompt: a cell that is typed after other text would run that too.

Shells with our integration are asked: a key that nobody types makes them report their line
(`core/mark.py`). Of other programs that mark their prompt, the unfinished line is compared with
what it was when the prompt was drawn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agent_pty.core.line_text import unquoted
from agent_pty.core.mark import LineReport
from agent_pty.core.prompt import looks_like_prompt
from agent_pty.errors import NotReady
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.events import Batch, Event, Signal
from agent_pty.host.principal import SYSTEM
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.integration.dialect import dialect

# One control byte: a sequence that is not bound would leave its tail on the line, to be run.
_KEY = b"\x1e"
# A shell at its prompt answers in a millisecond; after this the answer is unknown.
_SECONDS = 0.1
_SHOWN = 200


class LineQuestion:
    """A listener that asks a shell for its line; only one question is open at a time."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._answer: asyncio.Future[LineReport] | None = None
        self._open = 0  # questions whose answer has not come

    def notice(self, event: Event | Signal) -> None:
        """Take answers from output; one that is late belongs to a question that was given up."""
        if not isinstance(event, Batch):
            return
        if any(placed.mark.kind == "D" for placed in event.marks):
            self._open = 0  # a question that was not answered by now never will be
        for report in event.reports:
            self._open = max(0, self._open - 1)
            if self._open == 0 and self._answer is not None and not self._answer.done():
                self._answer.set_result(report)

    async def ask(self, patience: float = _SECONDS) -> LineReport | None:
        """Return what stands on the line; None if the shell does not say."""
        async with self._terminal.typing:
            return await self.ask_now(patience)

    async def ask_now(self, patience: float = _SECONDS) -> LineReport | None:
        """Ask for somebody who holds `Terminal.typing` already."""
        self._answer = asyncio.get_running_loop().create_future()
        self._open += 1
        await self._terminal.write(_KEY, kind=InputKind.QUESTION, by=SYSTEM)
        try:
            async with asyncio.timeout(patience):
                return await self._answer
        except TimeoutError:
            return None
        finally:
            self._answer = None


class LineCheck:
    """Refuses a cell while something stands on the line, or that *permit* refuses."""

    def __init__(
        self,
        terminal: Terminal,
        readiness: Readiness,
        question: LineQuestion,
        permit: Callable[[str], Awaitable[None]],
    ) -> None:
        self._terminal = terminal
        self._readiness = readiness
        self._question = question
        self._permit = permit
        self._asks = dialect(readiness.program).answers

    async def admit(self, code: str) -> None:
        """Raise if code must not be typed now: the line is not empty, or a rule forbids it."""
        await self.require_empty()
        await self._permit(code)

    async def require_empty(self) -> None:
        """Raise `NotReady`, with the text that stands there; nothing was typed then."""
        if not self._readiness.at_own_prompt:
            return
        report = await self._question.ask() if self._asks else None
        if report is None:
            self._compare()
            if not self._asks:
                self._readiness.confirm()
            return
        if report.mode == "vi":
            raise NotReady(
                "not at an empty prompt: the shell is in the command mode of vi, where text is "
                "commands; press i (agent-pty keys NAME i), then run the cell again"
            )
        if report.text:
            raise _occupied(unquoted(report.text))
        self._readiness.confirm()

    def _compare(self) -> None:
        """Without an answer, compare the line with the prompt as it was drawn."""
        output = self._terminal.output
        drawn, now = output.last_mark, output.transcript.pending
        if self._readiness.marks_missed and not looks_like_prompt(now.decode(errors="replace")):
            raise NotReady(
                "not at a prompt: after output was lost, the shell does not say what stands on "
                "its line; look at the screen, and press Enter or ctrl-c if it is at its prompt"
            )
        if drawn is None or drawn.mark.kind != "B" or not now.startswith(drawn.line):
            return
        typed = now[len(drawn.line) :].decode(errors="replace")
        # sqlite3 draws its prompt after the mark.
        if typed.strip() and not (drawn.line == b"" and looks_like_prompt(typed)):
            raise _occupied(typed)


def _occupied(text: str) -> NotReady:
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return NotReady(
        f"not at an empty prompt: {shown!r} stands on the line, and the cell would be added to it; "
        "run it with Enter or remove it with ctrl-c (agent-pty keys NAME ctrl-c) first",
        line=text,
    )
