"""A client for programs with an event loop."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from agent_pty.api import address
from agent_pty.api.async_session import AsyncSession
from agent_pty.api.generated.async_client import AsyncClientOperations
from agent_pty.api.pool import Pool
from agent_pty.errors import DaemonUnreachable

if TYPE_CHECKING:
    from agent_pty.api.async_connection import AsyncConnection
    from agent_pty.api.question import Question
    from agent_pty.ops.model import Stopped

_SERIAL_BYTES = 12
# Of a daemon that is being replaced.
_MOST_TRIES = 5


class AsyncClient(AsyncClientOperations):
    """As `Client`, for one event loop: many requests may wait at the same time.

    A request whose task is cancelled hangs up, and the daemon cancels what it waited for.

    >>> async def exit_codes() -> list[int | None]:
    ...     async with AsyncClient() as client:
    ...         shells = [await client.new("bash") for _ in range(3)]
    ...         cells = [shell.run(f"(exit {n})") for n, shell in enumerate(shells)]
    ...         return [cell.exit_code for cell in await asyncio.gather(*cells)]
    >>> asyncio.run(exit_codes())
    [0, 1, 2]
    """

    def __init__(
        self,
        *,
        home: str | os.PathLike[str] | None = None,
        socket: str | os.PathLike[str] | None = None,
        start: bool = True,
    ) -> None:
        self._where = address.located(home, socket)
        self._start = start
        self._pool: Pool[AsyncConnection] = Pool()

    def __repr__(self) -> str:
        return f"<AsyncClient {self.socket}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def socket(self) -> str:
        """The path of the daemon's socket."""
        return self._where.socket

    async def close(self) -> None:
        """Hang up; sessions live on."""
        self._pool.close()

    def session(self, id: str) -> AsyncSession:  # noqa: A002  named as in ops
        """Return a session by its name, whether or not it exists."""
        return AsyncSession(self, id)

    async def shutdown(self, *, keep: bool = False, successor: bool = False) -> Stopped:
        """Stop the daemon and end its sessions, or `keep` them; return when it has ended."""
        import asyncio  # noqa: PLC0415  importing the API must be quick

        await self._reach()
        stopped = await super().shutdown(keep=keep, successor=successor)
        if not successor:
            await asyncio.to_thread(address.wait_until_gone, self._where)
        return stopped

    async def _reach(self) -> None:
        """See that a daemon answers: `shutdown` is asked once, and must not meet one that dies."""
        from agent_pty.api.question import Question  # noqa: PLC0415  it loads the request types

        for left in reversed(range(_MOST_TRIES)):
            question = Question("status", {}, serial=os.urandom(_SERIAL_BYTES).hex())
            try:
                await self._answer(question, start=address.left_behind(self._where))
            except DaemonUnreachable:
                if not left or not address.left_behind(self._where):
                    raise
            else:
                return

    async def ask(self, op: str, /, **fields: Any) -> Any:
        """Return the answer of any op by its name; fields that are None are left out."""
        from agent_pty.api.question import Question  # noqa: PLC0415  it loads the request types

        question = Question(op, fields, serial=os.urandom(_SERIAL_BYTES).hex())
        return question.answer(await self._answer(question))

    async def envelope(self, op: str, /, **fields: Any) -> Any:
        """Return the whole envelope of an op's answer as plain values, also that of an error."""
        import json  # noqa: PLC0415  importing us is quick

        from agent_pty.api.question import Question  # noqa: PLC0415

        question = Question(op, fields, serial=os.urandom(_SERIAL_BYTES).hex())
        return json.loads(await self._answer(question))

    async def _answer(self, question: Question, *, start: bool | None = None) -> bytes:
        """Send the question until its answer comes; *start*: whether a daemon may be started."""
        may_start = self._may_start(question) if start is None else start
        connection = self._pool.take() or await self.connect(start=may_start)
        while True:
            try:
                line = await connection.answer_to(question.line)
            except BaseException:  # cancelled: the answer would be taken for that of the next one
                connection.close()
                raise
            if line.endswith(b"\n"):
                self._pool.give(connection)
                return line
            connection.close()
            question.lost()
            try:
                connection = await self.connect(start=False)
            except DaemonUnreachable as error:
                raise question.gave_up() from error

    def _may_start(self, question: Question) -> bool:
        return not question.ends_daemon or address.left_behind(self._where)

    async def connect(self, *, start: bool = True) -> AsyncConnection:
        """Return a connection for the caller alone; start a daemon unless told not to."""
        import asyncio  # noqa: PLC0415  importing the API must be quick

        from agent_pty.api.async_connection import dial  # noqa: PLC0415

        try:
            return await dial(self.socket)
        except DaemonUnreachable:
            if not (start and self._start):
                raise
        await asyncio.to_thread(address.start, self._where)
        return await dial(self.socket)

    async def stream(self, op: str, /, **fields: Any) -> Any:
        """Open `watch` or `attach`."""
        if op == "watch":
            from agent_pty.api.async_watching import AsyncWatching  # noqa: PLC0415

            return await AsyncWatching(self, fields).open()
        from agent_pty.api.async_attachment import AsyncAttachment  # noqa: PLC0415

        return await AsyncAttachment(self, fields).open()
