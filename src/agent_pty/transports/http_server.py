"""A listening HTTP server in the running loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from agent_pty import log
from agent_pty.errors import BadRequest, DaemonError
from agent_pty.ops.op import LARGEST_REQUEST, failure

_BACKLOG = 512
_MOST_AT_ONCE = 2048
_KEEP_ALIVE_SECONDS = 30
# What was asked for before the end may be answered for so long.
_END_SECONDS = 1


class _Protocol(HttpToolsProtocol):
    """Answers in our envelope also what is no HTTP."""

    def send_400_response(self, msg: str) -> None:
        """Say that the request cannot be read, and hang up."""
        body = failure(BadRequest(f"invalid HTTP request: {msg}"))
        head = (
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            b"connection: close\r\ncontent-length: %d\r\n\r\n"
        )
        self.transport.write(head % len(body) + body)
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
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            limit_concurrency=_MOST_AT_ONCE,
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
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((address, port))
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
