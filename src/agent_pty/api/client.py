"""A client for programs that wait for each answer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from agent_pty.api import address
from agent_pty.api.generated.client import ClientOperations
from agent_pty.api.pool import Pool
from agent_pty.api.session import Session
from agent_pty.errors import DaemonUnreachable

if TYPE_CHECKING:
    from agent_pty.api.async_client import AsyncClient
    from agent_pty.api.question import Question
    from agent_pty.client.connection import Connection
    from agent_pty.core.layout import Layout
    from agent_pty.ops.model import Stopped

_SERIAL_BYTES = 12
# Of a daemon that is being replaced.
_MOST_TRIES = 5


class Client(ClientOperations):
    """Speaks to the daemon, which is started if there is none. Every op of the daemon is a method.

    *home* or *socket* chooses the daemon; by default it is the one that `agent-pty` uses here. With
    `start=False` a daemon that does not run raises `DaemonUnreachable`.

    Threads may share a client: each request has a connection for itself while it runs, and idle
    ones are used again. If the daemon dies during a request, the next one is asked again, by the
    request's key, and nothing is done twice.

    >>> with Client() as client, client.new("bash") as shell:
    ...     shell.run("exit_with() { return $1; }; exit_with 3").exit_code
    3
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
        self._pool: Pool[Connection] = Pool()

    def __repr__(self) -> str:
        return f"<Client {self.socket}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def socket(self) -> str:
        """The path of the daemon's socket."""
        return self._where.socket

    @property
    def layout(self) -> Layout:
        """The files of the daemon's home."""
        return self._where

    def close(self) -> None:
        """Hang up; sessions live on."""
        self._pool.close()

    def async_client(self) -> AsyncClient:
        """Return a client of the same daemon for an event loop."""
        from agent_pty.api.async_client import AsyncClient  # noqa: PLC0415  for few programs

        return AsyncClient(socket=self.socket, start=self._start)

    def session(self, id: str) -> Session:  # noqa: A002  named as in ops
        """Return a session by its name, whether or not it exists."""
        return Session(self, id)

    def shutdown(self, *, keep: bool = False, successor: bool = False) -> Stopped:
        """Stop the daemon and end its sessions, or `keep` them; return when it has ended."""
        self._reach()
        stopped = super().shutdown(keep=keep, successor=successor)
        if not successor:
            address.wait_until_gone(self._where)
        return stopped

    def _reach(self) -> None:
        """See that a daemon answers: `shutdown` is asked once, and must not meet one that dies."""
        from agent_pty.api.question import Question  # noqa: PLC0415  it loads the request types

        for left in reversed(range(_MOST_TRIES)):
            question = Question("status", {}, serial=os.urandom(_SERIAL_BYTES).hex())
            try:
                self._answer(question, start=address.left_behind(self._where))
            except DaemonUnreachable:
                if not left or not address.left_behind(self._where):
                    raise
            else:
                return

    def ask(self, op: str, /, **fields: Any) -> Any:
        """Return the answer of any op by its name; fields that are None are left out.

        >>> client.ask("resize", id="work", rows=24, cols=80)
        Resized(rows=24, cols=80)
        """
        from agent_pty.api.question import Question  # noqa: PLC0415  it loads the request types

        question = Question(op, fields, serial=os.urandom(_SERIAL_BYTES).hex())
        return question.answer(self._answer(question))

    def envelope(self, op: str, /, **fields: Any) -> Any:
        """Return the whole envelope of an op's answer as plain values, also that of an error."""
        import json  # noqa: PLC0415  importing us is quick

        from agent_pty.api.question import Question  # noqa: PLC0415

        question = Question(op, fields, serial=os.urandom(_SERIAL_BYTES).hex())
        return json.loads(self._answer(question))

    def _answer(self, question: Question, *, start: bool | None = None) -> bytes:
        """Send the question until its answer comes; *start*: whether a daemon may be started."""
        may_start = self._may_start(question) if start is None else start
        connection = self._pool.take() or self.connect(start=may_start)
        while True:
            try:
                line = connection.answer_to(question.line)
            except (DaemonUnreachable, OSError):
                line = b""
            except BaseException:  # Ctrl-C: the answer would be taken for that of the next request
                connection.close()
                raise
            if line.endswith(b"\n"):
                self._pool.give(connection)
                return line
            connection.close()
            question.lost()
            try:
                connection = self.connect(start=False)
            except DaemonUnreachable as error:
                raise question.gave_up() from error

    def _may_start(self, question: Question) -> bool:
        return not question.ends_daemon or address.left_behind(self._where)

    def connect(self, *, start: bool = True) -> Connection:
        """Return a connection for the caller alone; start a daemon unless told not to."""
        from agent_pty.client.connection import connect  # noqa: PLC0415  importing us is quick

        try:
            return connect(self._where, start=False)
        except DaemonUnreachable:
            if not (start and self._start):
                raise
        address.start(self._where)
        return connect(self._where, start=False)

    def stream(self, op: str, /, **fields: Any) -> Any:
        """Open `watch` or `attach`."""
        if op == "watch":
            from agent_pty.api.watching import Watching  # noqa: PLC0415  it loads the result types

            return Watching(self, fields)
        from agent_pty.api.attachment import Attachment  # noqa: PLC0415  rarely needed

        return Attachment(self, fields)
