"""Ctrl-C of the caller, and what is done about it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
Stop = Callable[[], Awaitable[None]]


class Interrupt(asyncio.Event):
    """Set when the caller has pressed Ctrl-C. Its coming can be waited for, or be guarded against.

    A guard costs nothing until it is needed: most commands end before anybody presses anything.
    """

    def __init__(self) -> None:
        super().__init__()
        self._tell: Callable[[], None] = lambda: None

    def set(self) -> None:
        """The caller pressed it."""
        if not self.is_set():
            super().set()
            self._tell()

    async def guard(self, work: Awaitable[T], stop: Stop) -> T:
        """Return what *work* brings; once interrupted, *stop* it and see.

        After *stop* the work ends by itself. If *stop* fails, the work is left alone and its
        caller is told of that failure instead.
        """
        guard = _Guard(stop)
        if self.is_set():
            guard.begin()
        self._tell = guard.begin
        try:
            return await work
        except asyncio.CancelledError:
            if guard.failure is None:
                raise
            raise guard.failure from None
        finally:
            self._tell = lambda: None
            guard.close()


class _Guard:
    """Stops the work of the task that made it."""

    def __init__(self, stop: Stop) -> None:
        self.failure: Exception | None = None
        self._stop = stop
        self._worker = asyncio.current_task()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._carry_out())

    async def _carry_out(self) -> None:
        try:
            await self._stop()
        except Exception as failure:  # noqa: BLE001  raised again where the work is awaited
            self.failure = failure
            if self._worker is not None:
                self._worker.cancel()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self.failure is not None and self._worker is not None:
            self._worker.uncancel()


class GivenUp(Exception):
    """The caller does not want to wait any longer; what was asked for ends with that."""


async def give_up() -> None:
    """Stop by giving up: a guard then cancels the work."""
    raise GivenUp
