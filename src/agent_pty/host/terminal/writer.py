"""Write to a terminal that may not want it: whole inputs, in order, without blocking."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

from agent_pty.errors import Busy, SessionEnded

# If a program reads nothing for this long, the rest of the input is dropped.
PATIENCE = 10.0


class Writer:
    """Writes for a `Terminal`; *lock* is held by whoever types, so that two inputs never mix.

    *taken* returns when what was written has left our hands.
    """

    def __init__(self, fd: int, *, taken: Callable[[], Awaitable[None]] | None = None) -> None:
        self._fd = fd
        self._taken = taken
        self.lock = asyncio.Lock()
        self._ended = False
        self._room: asyncio.Future[None] | None = None

    def use(self, fd: int) -> None:
        """Write there from now on."""
        self._fd = fd

    def begin(self, data: bytes) -> bytes:
        """Write what there is room for, at once; return the rest, for `finish`."""
        return data[self._write(data) :]

    async def finish(self, rest: bytes, *, total: int, patience: float = PATIENCE) -> None:
        """Write the rest of an input of *total* bytes, or say how much the program has taken."""
        if rest:
            await self._write_all(rest, total=total, patience=patience)
        if self._taken is not None:
            await self._taken()

    async def _write_all(self, rest: bytes, *, total: int, patience: float) -> None:
        try:
            async with asyncio.timeout(patience):
                while rest:
                    await self._writable()
                    rest = self.begin(rest)
        except TimeoutError as error:
            raise Busy(
                f"the program does not read: {total - len(rest)} of {total} bytes were typed, "
                "the rest was dropped",
                typed=total - len(rest),
                total=total,
            ) from error

    def write_if_room(self, data: bytes) -> None:
        """Write what there is room for; a program that does not read gets no reply."""
        if not self._ended:
            self._write(data)

    def _write(self, data: bytes) -> int:
        if self._ended:
            raise SessionEnded("the session has ended: nothing can be typed into it")
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise SessionEnded(f"the terminal is gone: {error.strerror}") from error

    async def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        self._room = loop.create_future()
        loop.add_writer(self._fd, self._wake)
        try:
            await self._room
        finally:
            if not self._ended:
                loop.remove_writer(self._fd)

    def _wake(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def close(self) -> None:
        """Refuse further input and wake whoever writes: the program is gone."""
        if not self._ended:
            self._ended = True
            asyncio.get_running_loop().remove_writer(self._fd)
            self._wake()
