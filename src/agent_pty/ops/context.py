"""What handlers may rely on. Hosts and the daemon have these methods; nobody inherits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agent_pty.ops.model import Killed, Observation, Reading, Screen, SessionInfo


class Session(Protocol):
    """A live session, as its own handlers see it."""

    async def type(self, text: str, *, enter: bool) -> int:
        """Type text as a person would; return the cursor from which its effect can be read."""

    async def press(self, data: bytes) -> int:
        """Write bytes to the terminal; return the cursor before them."""

    def look(self) -> Screen:
        """Return the screen."""

    def read(
        self, *, since: int | None, tail: int | None, max_bytes: int, grep: str | None
    ) -> Reading:
        """Return text of the transcript."""

    async def wait(
        self, *, until: Sequence[str], fail_on: Sequence[str], patience: float, since: int | None
    ) -> Observation:
        """Return once a condition is true; raise what happened instead."""

    def resize(self, *, rows: int, cols: int) -> None:
        """Change the size of the terminal."""

    def signal(self, number: int, *, everyone: bool) -> list[int]:
        """Signal the foreground program, or the whole tree; return the pids."""


class Registry(Protocol):
    """The daemon, as the handlers of its own ops see it."""

    async def create(
        self,
        *,
        name: str | None,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        rows: int,
        cols: int,
        title: str | None,
        isolate: bool,
    ) -> SessionInfo:
        """Start a program in a new session."""

    async def list(self) -> list[SessionInfo]:
        """Return every session, reconciled with the operating system now."""

    async def status(self) -> dict[str, Any]:
        """Return facts about the daemon itself."""

    async def kill(self, name: str) -> Killed:
        """End a session with everything it started, and forget it."""

    async def rename(self, name: str, new_name: str) -> SessionInfo:
        """Give a session another name."""

    async def forward(self, name: str, payload: bytes) -> bytes:
        """Let the session's host answer a request."""

    def shut_down(self, *, keep: bool) -> None:
        """Begin to stop, once the answer to this request is out."""
