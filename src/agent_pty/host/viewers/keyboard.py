"""What a person types into a session that they are attached to, given to it in order.

A line that needs an approval is put to a person who is at a terminal of their own: `y` runs it.
Whoever types through a pipe is judged as an agent is.
"""

from __future__ import annotations

import asyncio
import contextvars
from typing import Protocol

from agent_pty.errors import AgentPtyError, ApprovalRequired, Refused
from agent_pty.host import principal
from agent_pty.host.gate.permission import Permission
from agent_pty.host.terminal.input import Input
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.viewers.attach import Viewers
from agent_pty.host.viewers.typed import TypedCounts

_MOST_TYPED_AHEAD = 1024 * 1024
_YES = (b"y", b"Y")


class Attached(Protocol):
    """A session that people type into."""

    input: Input
    viewers: Viewers
    permission: Permission
    typed: TypedCounts


class Keyboard:
    """Takes keys as they come; a program that does not read loses what does not fit."""

    def __init__(self, session: Attached, viewer: str | None) -> None:
        self._session = session
        self._viewer = viewer
        self._pending = bytearray()
        self._task: asyncio.Task[None] | None = None
        # The keys that wait for an answer, and the request that the answer decides.
        self._question: tuple[bytes, str] | None = None
        # Keys arrive outside the task of the stream, and only there it is known who types.
        self._context = contextvars.copy_context()

    def typed(self, data: bytes) -> None:
        """Take what was typed."""
        if len(self._pending) + len(data) <= _MOST_TYPED_AHEAD:
            self._pending += data
        if self._task is None:
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._give(), context=self._context)

    async def _give(self) -> None:
        try:
            while self._pending:
                data = bytes(self._pending)
                self._pending.clear()
                await self._press(data)
                self._session.typed.add(self._viewer, len(data))
        except AgentPtyError:  # the session has ended, and so will the stream
            self._pending.clear()
        finally:
            self._task = None

    async def _press(self, data: bytes) -> None:
        if self._question is not None:
            await self._answer(data)
            return
        try:
            await self._session.input.press(data, kind=InputKind.ATTACH)
        except ApprovalRequired as error:
            self._ask(data, error)
        except Refused as error:
            self._session.viewers.show_notice(str(error))

    def _ask(self, data: bytes, error: ApprovalRequired) -> None:
        """Put a line that was refused to the person, or say that it was."""
        if principal.acting.get().terminal:
            self._question = (data, error.details["request"])
            rule, reason = error.details["rule"], error.details["reason"] or ""
            self._session.viewers.show_notice(f"{rule} needs an approval: run {reason!r}? y/N")
        else:
            self._session.viewers.show_notice(str(error))

    async def _answer(self, data: bytes) -> None:
        """Take the first key as the answer; what was typed after it is not what was meant then."""
        keys, request = self._question or (b"", "")
        self._question = None
        by = principal.acting.get()
        if data[:1] in _YES:
            self._session.permission.grant(request, by)
            await self._session.input.press(keys, kind=InputKind.ATTACH)
        else:
            self._session.permission.deny(request, by)
            self._session.viewers.end_notices()

    def close(self) -> None:
        """Give no more."""
        if self._task is not None:
            self._task.cancel()
