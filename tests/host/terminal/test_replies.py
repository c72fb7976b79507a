"""Replies reach the program that asked, never the shell that reads after it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from agent_pty.host.events import Batch, CellChanged
from agent_pty.host.principal import SYSTEM
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.replies import Replies
from agent_pty.host.terminal.terminal import Terminal
from support.terminal import NONCE, Program, program

ENDED = f"\x1b]133;D;0;apty={NONCE}.1\x07"


@pytest.fixture
def terminal() -> Iterator[Program]:
    """A terminal in line mode, as a shell leaves it to a command."""
    with program() as opened:
        yield opened


def cell(status: str) -> CellChanged:
    """Return the event of a cell's new status."""
    return CellChanged(cursor=0, cell_id="c", status=status)


def asked(data: bytes = b"\x1b[?1c") -> Batch:
    """Return a batch in which the program queried the terminal."""
    return Batch(data=b"", marks=(), replies=data)


class Looks:
    """Counts how often the terminal's mode is looked up, which happens before each reply."""

    def __init__(self, terminal: Terminal, patch: pytest.MonkeyPatch) -> None:
        self._found, self._look = asyncio.Event(), terminal.local_modes
        patch.setattr(terminal, "local_modes", self._count)

    def _count(self) -> int:
        self._found.set()
        return self._look()

    async def seen(self) -> None:
        """Return when a reply was due and the mode was looked up."""
        self._found.clear()
        async with asyncio.timeout(30):
            await self._found.wait()


def test_nobody_can_read_a_reply_in_line_mode(
    terminal: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A command that queries and ends slowly gets no reply: the shell would take it for typing.
    """

    async def story() -> bytes:
        replies, looks = Replies(terminal.terminal), Looks(terminal.terminal, monkeypatch)
        replies.notice(cell("fired"))
        replies.notice(asked())
        for _ in range(3):
            await looks.seen()
        replies.notice(Batch(data=b"", marks=terminal.says(ENDED), replies=b""))
        replies.notice(cell("done"))
        await terminal.terminal.write(b"next\r", kind=InputKind.TEXT, by=SYSTEM)
        return await terminal.read_until(b"\n")

    assert asyncio.run(story()) == b"next\n"


def test_a_program_that_switches_line_mode_off_gets_its_reply(
    terminal: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Some programs ask first and change the terminal's mode afterwards.
    """

    async def story() -> bytes:
        replies, looks = Replies(terminal.terminal), Looks(terminal.terminal, monkeypatch)
        replies.notice(cell("fired"))
        replies.notice(asked())
        await looks.seen()
        terminal.raw()
        return await terminal.read_until(b"c")

    assert asyncio.run(story()) == b"\x1b[?1c"


def test_without_a_cell_a_reply_comes_at_once(terminal: Program) -> None:
    """
    A program that a person started, or a shell that queries at its prompt, waits for nothing.
    """

    async def story() -> bytes:
        terminal.raw()
        Replies(terminal.terminal).notice(asked())
        return await terminal.read_until(b"c")

    assert asyncio.run(story()) == b"\x1b[?1c"
