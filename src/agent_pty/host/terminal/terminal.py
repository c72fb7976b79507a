"""What a session offers to those who work in its terminal."""

from __future__ import annotations

from typing import Protocol

from agent_pty.host.terminal.input import Hands
from agent_pty.host.terminal.output import Stream
from agent_pty.host.viewers.audience import Audience


class Terminal(Protocol):
    """A live session, as its cells see it."""

    stream: Stream
    audience: Audience
    hands: Hands

    @property
    def master(self) -> int:
        """The terminal itself."""

    def signal(self, number: int, *, everyone: bool) -> list[int]:
        """Signal the foreground program."""

    def cwd(self) -> str | None:
        """Return the directory of the program in front."""
