"""`serve_http`: HTTP and WebSocket at an address, as long as somebody wants it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from msgspec import Meta

from agent_pty.core.http_access import is_loopback
from agent_pty.errors import BadRequest
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Op, Request

DEFAULT_ADDRESS = "127.0.0.1:4319"
_MOST_PORTS = 65535


class ServeHttp(Request, frozen=True, kw_only=True):
    """Serve HTTP at an address as long as this stream is open; the first line says where."""

    addr: Annotated[str, Meta(description="address and port; port 0: a free one")] = DEFAULT_ADDRESS
    allow_remote: Annotated[
        bool, Meta(description="also listen beyond this machine, without encryption")
    ] = False


async def serve_http(registry: Registry, request: ServeHttp) -> AsyncIterator[bytes]:
    """Serve until the caller leaves."""
    address, port = allowed_place(request.addr, remote=request.allow_remote)
    return await registry.serve_http(address, port, remote=request.allow_remote)


def allowed_place(addr: str, *, remote: bool) -> tuple[str, int]:
    """Return address and port; refuse one beyond this machine unless *remote*."""
    address, port = place(addr)
    if not is_loopback(address) and not remote:
        raise BadRequest(
            f"{address} can be reached by other machines, and what is sent is not encrypted: "
            "listen at 127.0.0.1 and use an ssh tunnel, or say --allow-remote",
            field="addr",
        )
    return address, port


def place(addr: str) -> tuple[str, int]:
    """Return address and port of `ADDRESS:PORT`; `localhost` is 127.0.0.1.

    >>> place("localhost:4319"), place("[::1]:80")
    (('127.0.0.1', 4319), ('::1', 80))
    """
    address, colon, port = addr.rpartition(":")
    address = address.removeprefix("[").removesuffix("]")
    if not colon or not address or not port.isascii() or not port.isdigit():
        raise BadRequest(f"invalid address {addr!r}: write 127.0.0.1:4319", field="addr")
    if int(port) > _MOST_PORTS:
        raise BadRequest(f"invalid port {port}: at most {_MOST_PORTS}", field="addr")
    return ("127.0.0.1" if address == "localhost" else address), int(port)


OP = Op(
    name="serve_http",
    answer="serving",
    request=ServeHttp,
    where="daemon",
    handler=serve_http,
    stream=True,
    surfaces=frozenset({"socket"}),
    audience="operator",
)
