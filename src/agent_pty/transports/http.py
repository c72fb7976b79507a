"""HTTP and WebSocket: requests and answers as on the Unix socket, for programs and for pages.

Rule of this file: nothing is decided here but who may ask. What an op does, and whether it is
offered here, is the daemon's business.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from agent_pty import ops
from agent_pty.core.http_access import Asked, Doorkeeper, Peer, is_loopback
from agent_pty.core.trace import context_of
from agent_pty.errors import (
    AgentPtyError,
    BadRequest,
    DaemonError,
    Forbidden,
    TooLarge,
    Unauthorized,
)
from agent_pty.ops.op import LARGEST_REQUEST, decode_head, failure, unexpected
from agent_pty.transports.caller import Caller, Handle, Streaming
from agent_pty.transports.openapi import description, offered
from agent_pty.transports.stream_response import EventStream, first_of
from agent_pty.transports.tcp_peer import uid_of
from agent_pty.transports.websocket_input import Incoming

_ONLY = (
    "only POST /request is supported, and GET /ops, /openapi.json and /watch, and a WebSocket at "
    "/stream"
)
# A request that cannot be read is a bad one, as in the contract; any other failure is a conflict.
_STATUS = {
    "bad_request": HTTPStatus.BAD_REQUEST,
    "unknown_op": HTTPStatus.BAD_REQUEST,
    "too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "unauthorized": HTTPStatus.UNAUTHORIZED,
    "forbidden": HTTPStatus.FORBIDDEN,
    "internal": HTTPStatus.INTERNAL_SERVER_ERROR,
}
# What is read of a request that is too large, before it is refused and the connection closed.
_MOST_READ = 8 * LARGEST_REQUEST
# A number that fits into 64 bits.
_NUMBER = re.compile("[0-9]{1,18}", re.ASCII)
# The first event of a stream that cannot be taken up where the client lost it.
_SOME_MISSED = b'{"event":"lagged","missed":null}\n'
_SAFE = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
}


def application(handle: Handle, doorkeeper: Doorkeeper, *, mcp: ASGIApp) -> ASGIApp:
    """Return the application that passes requests to *handle*; *mcp* is what is at `/mcp`."""
    surface = _Surface(handle)
    routes = [
        Route("/request", surface.request, methods=["POST"]),
        _Get("/ops", surface.ops),
        _Get("/openapi.json", surface.openapi),
        _Get("/watch", surface.watch),
        _Get("/", surface.page),
        Route("/mcp", mcp, methods=["GET", "POST", "DELETE"]),
        WebSocketRoute("/stream", surface.stream),
    ]
    handlers: Mapping[Any, Any] = {
        404: _not_found,
        405: _not_found,
        ClientDisconnect: _left,
        Exception: _unexpected,
    }
    # `/request/` is not served: the contract has one path.
    served = Mount("", Router(routes, redirect_slashes=False))
    app = Starlette(routes=[served], exception_handlers=handlers)
    return _Guarded(app, doorkeeper)


class _Get(Route):
    """A route for GET alone: a HEAD would open streams that nobody can read."""

    def __init__(self, path: str, endpoint: Callable[[Request], Awaitable[Any]]) -> None:
        super().__init__(path, endpoint)
        self.methods = {"GET"}


class _Guarded:
    """Refuses whom the doorkeeper refuses, before anything else happens."""

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper) -> None:
        self._app = app
        self._doorkeeper = doorkeeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = HTTPConnection(scope)
        uid = _uid(scope)
        refused = self._doorkeeper.refusal(_asked(asked), Peer(address=_address(scope), uid=uid))
        scope["caller"] = Caller(
            transport="websocket" if scope["type"] == "websocket" else "http", uid=uid, pid=None
        )
        if refused is None and scope["type"] == "http":
            await self._served(scope, receive, send)
        elif refused is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocket(scope, receive, send).send_denial_response(_answer(refused))
        else:
            await _answer(refused)(scope, receive, send)

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; a request that the end of the server cuts off is told so."""
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except asyncio.CancelledError:
            if begun:
                raise
            closing = DaemonError("this server is being closed: whether it acted is unknown")
            envelope = _response(failure(closing), HTTPStatus.SERVICE_UNAVAILABLE)
            await envelope(scope, receive, send)


def _asked(connection: HTTPConnection) -> Asked:
    headers = connection.headers
    hosts = headers.getlist("host")
    return Asked(
        host=hosts[0] if len(hosts) == 1 else None,
        origin=_joined(headers, "origin"),
        fetch_site=_joined(headers, "sec-fetch-site"),
        authorization=_joined(headers, "authorization"),
    )


def _joined(headers: Headers, name: str) -> str | None:
    """Return a header; one that is there twice has no value that would be accepted."""
    values = headers.getlist(name)
    return ", ".join(values) if values else None


def _address(scope: Scope) -> str | None:
    return scope["client"][0] if scope.get("client") else None


def _uid(scope: Scope) -> int | None:
    client, server = scope.get("client"), scope.get("server")
    if not client or not server or not is_loopback(client[0]):
        return None
    return uid_of(tuple(client), tuple(server))


class _Surface:
    """One method for each route."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    async def request(self, request: Request) -> Response | EventStream:
        """Answer a request object by its envelope."""
        if request.url.query:
            return await _not_found(request, None)
        try:
            payload = _with_traceparent(await _body(request), request.headers)
            answer = await _unless_left(request, self._handle(payload, request.scope["caller"]))
        except AgentPtyError as error:
            return _answer(error)
        if isinstance(answer, Streaming):
            return EventStream(answer, carries=ops.find(decode_head(payload).op).carries)
        return _response(answer)

    async def watch(self, request: Request) -> Response | EventStream:
        """Answer with events as they happen, for `EventSource`."""
        query = request.query_params
        fields: dict[str, Any] = {"op": "watch", "id": query.get("id")}
        fields["events"] = query.getlist("event") or None
        # A browser that connects again repeats its address and says in a header what it saw last.
        seen = request.headers.get("last-event-id") or None
        of_all = seen is not None and fields["id"] is None  # a number is one session's
        since = query.get("since") if seen is None or of_all else seen
        if since:
            fields["since"] = int(since) if _NUMBER.fullmatch(since) else since
        payload = msgspec.json.encode(fields)
        answer = await _unless_left(request, self._handle(payload, request.scope["caller"]))
        if not isinstance(answer, Streaming):
            return _response(answer)
        return EventStream(answer, first=_SOME_MISSED if of_all else b"")

    async def ops(self, _request: Request) -> Response:
        """List what can be asked for."""
        return _json(offered())

    async def openapi(self, request: Request) -> Response:
        """Describe it for machines."""
        return _json(description(str(request.base_url).rstrip("/")))

    async def page(self, _request: Request) -> Response:
        """Describe it for people."""
        return Response(_page(), media_type="text/html; charset=utf-8", headers=_SAFE)

    async def stream(self, socket: WebSocket) -> None:
        """Carry a stream: a request as the first message, its envelope, then bytes both ways."""
        await socket.accept()
        # It left: starlette has two ways to say so.
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            incoming = Incoming(socket)
            payload = await incoming.next()
            answer = await incoming.meanwhile(self._handle(payload, socket.scope["caller"]))
            if isinstance(answer, Streaming):
                await incoming.exchange(answer)
            else:
                await socket.send_text(answer.decode())
            await socket.close()


@functools.cache
def _page() -> bytes:
    with open(os.path.join(os.path.dirname(__file__), "page.html"), "rb") as file:
        return file.read()


async def _unless_left(request: Request, work: Any) -> bytes | Streaming:
    """Return what *work* returns; if the client leaves first, it is cancelled."""
    found: list[bytes | Streaming] = []

    async def answer() -> None:
        found.append(await work)

    async def left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    await first_of(answer(), left())
    if not found:
        raise ClientDisconnect
    return found[0]


async def _body(request: Request) -> bytes:
    """Return the body, within bounds: a length that is announced allocates nothing."""
    announced = request.headers.get("content-length", "0")
    if _NUMBER.fullmatch(announced) is None or int(announced) > _MOST_READ:
        raise _too_large()
    body, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > _MOST_READ:
            break
        # Most clients read no answer before they have sent everything, so some more is read.
        if size <= LARGEST_REQUEST:
            body += chunk
    if size > LARGEST_REQUEST:
        raise _too_large()
    return bytes(body)


def _with_traceparent(body: bytes, headers: Headers) -> bytes:
    """Put the header into a request object, where it counts more than a field of that name."""
    context = context_of(_joined(headers, "traceparent"))
    whole = body.rstrip()
    if context is None or not whole.endswith(b"}") or whole[:-1].rstrip().endswith(b"{"):
        return body
    return whole[:-1] + b',"traceparent":"%s"}' % context.traceparent.encode()


def _too_large() -> TooLarge:
    most = LARGEST_REQUEST // (1024 * 1024)
    return TooLarge(f"a request may have at most {most} MiB", limit=LARGEST_REQUEST)


def _response(
    envelope: bytes, status: HTTPStatus | None = None, headers: Mapping[str, str] = _SAFE
) -> Response:
    """Return an envelope; its status follows from its code if it is not given."""
    head = msgspec.json.decode(envelope, type=_Envelope)
    if status is None:
        failed = _STATUS.get(head.code or "", HTTPStatus.CONFLICT)
        status = HTTPStatus.OK if head.ok else failed
    return Response(envelope, status, media_type="application/json", headers=headers)


class _Envelope(msgspec.Struct):
    ok: bool
    code: str | None = None


def _answer(error: AgentPtyError) -> Response:
    misdirected = isinstance(error, Forbidden) and "host" in error.details
    headers = dict(_SAFE)
    if isinstance(error, Unauthorized):
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, TooLarge | Unauthorized | Forbidden):
        headers["connection"] = "close"  # the rest of the body is not read
    status = HTTPStatus.MISDIRECTED_REQUEST if misdirected else None
    return _response(failure(error), status, headers)


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json", headers=_SAFE)


async def _not_found(_request: Request, _error: Any) -> Response:
    return _response(failure(BadRequest(_ONLY)), HTTPStatus.NOT_FOUND)


async def _left(_request: Request, _error: Any) -> Response:
    return Response()  # nobody receives it


async def _unexpected(_request: Request, error: Exception) -> Response:
    return _response(failure(unexpected(error)))
