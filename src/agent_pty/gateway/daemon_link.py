"""The gateway's way to the daemon: requests in the name of callers, whatever daemon there is.

Each connection belongs to one caller, whom the daemon is told when it is made. One request at a
time uses a connection; who leaves closes it, and by that the daemon knows.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Awaitable, Callable

from agent_pty import ops
from agent_pty.errors import AgentPtyError, DaemonUnreachable, HostLost
from agent_pty.ops.op import LARGEST_REQUEST, PASSING, Op, decode_head, failure
from agent_pty.transports.caller import Caller, Hear, Streaming
from agent_pty.transports.control import Connect, ControlLink, Serve

# How long a caller waits for a daemon that is being replaced.
_PATIENCE = 20.0
_MOST_IDLE = 16
_MOST_ATTEMPTS = 10
_CHUNK = 1 << 16
# An answer is a page at most; a request that asks for a batch of them may be answered at length.
_LONGEST_ANSWER = 16 * LARGEST_REQUEST


class _Gone(Exception):
    """The daemon closed the connection before it answered."""


class Connection:
    """One connection to the daemon, for one caller."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    async def exchange(self, payload: bytes) -> bytes:
        """Send a request and return the envelope."""
        try:
            self._writer.write(payload + b"\n")
            await self._writer.drain()
            answer = await self.reader.readline()
        except (ConnectionError, asyncio.LimitOverrunError, ValueError) as error:
            raise _Gone from error
        if not answer.endswith(b"\n"):
            raise _Gone
        return answer[:-1]

    def give(self, data: bytes) -> None:
        """Send input of a stream."""
        self._writer.write(data)

    def close(self) -> None:
        """Hang up: what the daemon still does for this caller is cancelled."""
        self._writer.transport.abort()


class DaemonLink:
    """Hands requests to the daemon. *serve* answers what the daemon asks of the gateway.

    *lost* is called when the daemon is gone.
    """

    def __init__(self, serve: Serve, lost: Callable[[], None]) -> None:
        self._serve = serve
        self._on_lost = lost
        self._control: ControlLink | None = None
        self._connected = asyncio.Event()
        self._idle: list[tuple[Caller, Connection]] = []  # the one used last is last
        self._busy = 0

    @property
    def busy(self) -> int:
        """How many requests are being answered."""
        return self._busy

    @property
    def connected(self) -> bool:
        """Whether there is a daemon."""
        return self._connected.is_set()

    def use(self, fd: int) -> None:
        """Use a new connection to the daemon instead of the one before."""
        if self._control is not None:
            self._control.close()
        self._forget_idle()
        sock = socket.socket(fileno=fd)
        self._control = ControlLink(sock, serve=self._serve, lost=self._lost)
        self._connected.set()

    def _lost(self) -> None:
        self._connected.clear()
        self._forget_idle()
        self._on_lost()

    def _forget_idle(self) -> None:
        for _, connection in self._idle:
            connection.close()
        self._idle.clear()

    async def _connect(self, caller: Caller, op: Op) -> Connection:
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._connected.wait()
        except TimeoutError:
            raise DaemonUnreachable(
                "there is no daemon: start one with any command, such as `agent-pty list`"
            ) from None
        mine = next((one for one in reversed(self._idle) if one[0] == caller), None)
        if mine is not None and not op.stream:
            self._idle.remove(mine)
            return mine[1]
        ours, theirs = socket.socketpair()
        with theirs:
            control = self._control
            if control is None:
                raise _Gone
            asked = Connect(transport=caller.transport, uid=caller.uid, pid=caller.pid)
            try:
                await control.ask(asked, [theirs.fileno()])
            except AgentPtyError as error:
                ours.close()
                raise _Gone from error
        # Of a stream no more is read ahead than is sent at once: its client may be slow.
        limit = _CHUNK if op.stream else _LONGEST_ANSWER
        return Connection(*await asyncio.open_unix_connection(sock=ours, limit=limit))

    async def handle(self, payload: bytes, caller: Caller) -> bytes | Streaming:
        """Answer one request: the same as the daemon's own `handle`, for every transport here."""
        self._busy += 1
        try:
            op, payload = _prepared(payload)
            return await self._handled(op, payload, caller)
        except AgentPtyError as error:
            return failure(error)
        finally:
            self._busy -= 1

    async def _handled(self, op: Op, payload: bytes, caller: Caller) -> bytes | Streaming:
        for _ in range(_MOST_ATTEMPTS):
            try:
                connection = await self._connect(caller, op)
            except _Gone:
                await asyncio.sleep(0)
                continue
            try:
                head = await connection.exchange(payload)
            except _Gone:
                connection.close()
                if op.mutates and not op.keyed:
                    break
                continue
            except BaseException:
                connection.close()
                raise
            if op.stream and head.startswith(b'{"ok":true'):
                return Streaming(head=head, pour=_pouring(connection), give=connection.give)
            self._release(caller, connection, op)
            return head
        raise HostLost("the daemon was lost during the request: whether it acted is unknown")

    def _release(self, caller: Caller, connection: Connection, op: Op) -> None:
        """Keep a connection for the next request, unless it is that of a stream."""
        if op.stream:
            connection.close()
            return
        self._idle.append((caller, connection))
        while len(self._idle) > _MOST_IDLE:  # of callers who may have left
            self._idle.pop(0)[1].close()

    def close(self) -> None:
        """Hang up."""
        self._forget_idle()
        if self._control is not None:
            self._control.close()


def _prepared(payload: bytes) -> tuple[Op, bytes]:
    """Return the op and the request in one line, with a key if it may have to be sent again."""
    head = decode_head(payload)
    op = ops.find(head.op)
    line = payload.strip().replace(b"\n", b" ").replace(b"\r", b" ")  # JSON: between tokens only
    if op.keyed and head.key is None:
        key = PASSING + secrets.token_hex(8)
        line = line[:-1] + b',"key":"%s"}' % key.encode()  # the last one counts
    return op, line


def _pouring(connection: Connection) -> Callable[[Hear], Awaitable[None]]:
    async def pour(hear: Hear) -> None:
        with contextlib.closing(connection):
            while data := await connection.reader.read(_CHUNK):
                await hear(data)

    return pour
