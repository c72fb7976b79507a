"""Ends a session that nobody uses, if a limit was set for it.

Used is a session by input, output, a person who is attached, a cell that runs, or a wait.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from agent_pty import log
from agent_pty.core.evidence.event import Action
from agent_pty.core.evidence.event import IdleStop as Evidence
from agent_pty.host import events, principal
from agent_pty.host.idle_timer import IdleTimer
from agent_pty.host.principal import SYSTEM, Principal
from agent_pty.ops.model import Killed


class Terminal(Protocol):
    """As much of a terminal as is needed here."""

    @property
    def active_at(self) -> float:
        """When the last input was given or the last output was read."""

    async def kill(self) -> Killed:
        """End the whole process tree."""


class Users(Protocol):
    """Whoever uses the session."""

    @property
    def in_use(self) -> bool:
        """Whether a person is attached, a cell runs or somebody waits."""

    @property
    def waited_at(self) -> float:
        """When the last wait ended."""


class Recorder(Protocol):
    """Writes the journal."""

    def note(self, action: Action, by: Principal | None = None) -> None:
        """Record something that nothing may prevent."""


class IdleStop:
    """A listener with a timer; *name* is for the log."""

    def __init__(
        self, limit: float, terminal: Terminal, users: Users, recorder: Recorder, *, name: str
    ) -> None:
        self._limit = limit
        self._terminal = terminal
        self._users = users
        self._recorder = recorder
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._used_at = self._loop.time()
        self._ending: asyncio.Task[None] | None = None
        self._timer = IdleTimer(
            limit, in_use=lambda: users.in_use, last_use=self._last_use, end=self._begin_to_end
        )

    @property
    def reason(self) -> str | None:
        """Why the session was ended; None if not by us."""
        if self._ending is None:
            return None
        return f"ended because nobody had used it for {self._limit:g} s (idle_stop)"

    def notice(self, event: events.Event | events.Signal) -> None:
        """Note uses that end; input and output the terminal knows."""
        if isinstance(event, events.Detached | events.CellChanged):
            self._used_at = self._loop.time()
        elif isinstance(event, events.Exited | events.Lost):
            self._timer.close()

    def _last_use(self) -> float:
        return max(self._used_at, self._terminal.active_at, self._users.waited_at)

    def _begin_to_end(self) -> None:
        self._ending = self._loop.create_task(self._end())

    async def _end(self) -> None:
        idle = self._loop.time() - self._last_use()
        self._recorder.note(Evidence(limit_s=self._limit, idle_s=round(idle, 3)), SYSTEM)
        principal.acting.set(SYSTEM)
        killed = await self._terminal.kill()
        for survivor in killed.survivors:
            log.line(f"{self._name}: could not end process {survivor}")

    def close(self) -> None:
        """End nothing any more."""
        self._timer.close()
