"""A listening HTTP server in the running loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from agent_pty import log
from agent_pty.errors import AgentPtyError, BadRequest, Busy, DaemonError, TooLarge
from agent_pty.ops.op import LARGEST_REQUEST, failure

_BACKLOG = 512
_MOST_AT_ONCE = 2048
_KEEP_ALIVE_SECONDS = 30
_LARGEST_HEAD = 64 * 1024
# Headers that were begun must end within this time.
_HEAD_SECONDS = 30.0
# What was asked for before the end may be answered for so long.
_END_SECONDS = 1


class _Protocol(HttpToolsProtocol):
    """Bounds what a stranger can cost before we know who it is; answers all in our envelope."""

    _head = 0  # bytes of headers that have not ended
    _in_head = False
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse a connection too many."""
        super().connection_made(transport)
        self._time_head()
        if len(self.connections) > _MOST_AT_ONCE:
            error = Busy(f"more than {_MOST_AT_ONCE} connections: ask again later")
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, error)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of headers: the parser has no limit of its own."""
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head:
            self._head += len(data)
            if self._head > _LARGEST_HEAD and not self.transport.is_closing():
                error = TooLarge(f"headers may have at most {_LARGEST_HEAD} bytes")
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, error)

    def on_message_begin(self) -> None:
        """Note that headers follow."""
        super().on_message_begin()
        self._in_head, self._head = True, 0
        self._time_head()

    def on_headers_complete(self) -> None:
        """Note that the headers have ended."""
        self._in_head = False
        self._stop_timing()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop_timing()
        super().connection_lost(exc)

    def _time_head(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def _stop_timing(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def send_400_response(self, msg: str) -> None:
        """Say that the request cannot be read, and hang up."""
        self._refuse(HTTPStatus.BAD_REQUEST, BadRequest(f"invalid HTTP request: {msg}"))

    def _refuse(self, status: HTTPStatus, error: AgentPtyError) -> None:
        body = failure(error)
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
            f"connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


class _LogLines(logging.Handler):
    """What uvicorn reports goes to our log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        log.line(f"gateway: {record.getMessage()}")


class HttpServer:
    """Serves *app* on a bound socket until closed; *ended* is awaited after that."""

    def __init__(
        self, app: ASGIApp, sock: socket.socket, *, ended: Callable[[], Awaitable[None]]
    ) -> None:
        self._socket = sock
        self._ended = ended
        config = uvicorn.Config(
            app,
            http=_Protocol,
            ws="websockets-sansio",
            ws_max_size=LARGEST_REQUEST,
            ws_per_message_deflate=False,  # it costs memory for each client, to save none here
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_END_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._task: asyncio.Task[Any] | None = None
        _log_warnings()

    @property
    def busy(self) -> bool:
        """Whether somebody is connected."""
        return bool(self._server.server_state.connections)

    def start(self) -> None:
        """Begin to accept. The signals of this process are not uvicorn's business."""
        self._task = asyncio.get_running_loop().create_task(
            self._server._serve(sockets=[self._socket])  # noqa: SLF001  `serve` takes the signals
        )

    async def close(self) -> None:
        """Hang up; what has been begun is cancelled soon."""
        self._server.handle_exit(signal.SIGTERM, None)
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._socket.close()
        await self._ended()


def bound(address: str, port: int) -> socket.socket:
    """Return a listening socket, or raise what prevents it and what can be done."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # asyncio switches Nagle's algorithm off only where the protocol is named. With it, the body of
    # each answer would wait 40 ms for the client to acknowledge the headers.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((address, port))
        sock.listen(_BACKLOG)  # whoever is told the address can connect from now on
    except (OSError, OverflowError) as error:
        sock.close()
        why = getattr(error, "strerror", None) or str(error)
        raise DaemonError(
            f"cannot listen at {address}:{port}: {why}: choose another with --addr", addr=address
        ) from error
    sock.setblocking(False)
    return sock


def _log_warnings() -> None:
    logger = logging.getLogger("uvicorn.error")
    if not logger.handlers:
        logger.addHandler(_LogLines(logging.WARNING))
