"""One MCP client on a socket: lines of JSON-RPC to the SDK and back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage

from agent_pty.gateway.plain_client import OURS, PlainClient
from agent_pty.ops.op import LARGEST_REQUEST
from agent_pty.transports.hangup import HangupWatch

_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
# What was asked for is answered within this time, or no longer waited for.
_LAST_ANSWERS_SECONDS = 300.0
_MOST_UNREAD = 64
# Its answer is a stream, which ends when the client leaves.
_ENDLESS = "subscriptions/listen"
# A client that asks for more without reading its answers must read first.
_MOST_UNANSWERED = 256
_CANCELLED = "notifications/cancelled"

# Stands for a line that is above the limit.
_TOO_LONG = b"too long"


class McpSession:
    """Serves *server* on a connection; *arrived* is what the client has sent already."""

    def __init__(self, server: Server[Any], sock: socket.socket, arrived: bytes) -> None:
        self._server = server
        self._socket = sock
        self._arrived = arrived
        self._plain = PlainClient()
        self._unanswered: set[str | int] = set()
        self._answered = asyncio.Event()
        self._left = False

    async def run(self) -> None:
        """Serve until the client has left and everything it asked for is answered."""
        reader, writer = await asyncio.open_unix_connection(
            sock=self._socket, limit=LARGEST_REQUEST
        )
        reader_with_rest = _Lines(reader, self._arrived)
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](
            _MOST_UNREAD
        )
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](_MOST_UNREAD)

        async def read() -> None:
            async with to_server:
                while not self._left and (line := await reader_with_rest.next()) is not None:
                    for message in self._received(line, writer):
                        await to_server.send(message)
                    await writer.drain()
                    await self._answers_but(0 if self._plain.in_order else _MOST_UNANSWERED - 1)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LAST_ANSWERS_SECONDS):
                        await self._answers_but(0)

        async def write() -> None:
            async for sent in from_server:
                await self._send(sent, writer)

        # A client that has closed its side may still wait for answers; one that is gone does not.
        hangups = HangupWatch()
        hangups.add(self._socket.fileno(), self._gone)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(write())
                reading = tasks.create_task(read())
                options = self._server.create_initialization_options()
                await self._server.run(from_client, to_client, options)
                reading.cancel()
        except* (ConnectionError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # it left
        finally:
            hangups.close()
            writer.transport.abort() if writer.is_closing() else writer.close()

    def _received(self, line: bytes, writer: asyncio.StreamWriter) -> list[SessionMessage]:
        """Return the messages for the SDK; what is no message is answered here."""
        if line is _TOO_LONG:
            text = f"Invalid Request: a message may have at most {LARGEST_REQUEST} bytes"
            _refuse(writer, _INVALID_REQUEST, text)
            return []
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            _refuse(writer, _PARSE_ERROR, "Parse error: a line must be one JSON-RPC message")
            return []
        if not isinstance(message, dict):
            _refuse(writer, _INVALID_REQUEST, "Invalid Request: batches are not supported")
            return []
        messages = []
        for one in self._plain.completed(message):
            try:
                parsed = types.jsonrpc_message_adapter.validate_python(one, by_name=False)
            except ValueError:
                _refuse(writer, _INVALID_REQUEST, "Invalid Request", _id_of(one))
                continue
            if isinstance(parsed, types.JSONRPCRequest) and parsed.method != _ENDLESS:
                self._unanswered.add(parsed.id)
            elif isinstance(parsed, types.JSONRPCNotification) and parsed.method == _CANCELLED:
                self._forget((parsed.params or {}).get("requestId"))
            messages.append(SessionMessage(parsed))
        return messages

    async def _send(self, sent: SessionMessage, writer: asyncio.StreamWriter) -> None:
        message = sent.message
        number = getattr(message, "id", None)
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._forget(number)
            if number == OURS:
                return
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        writer.write(text.encode() + b"\n")
        await writer.drain()

    def _forget(self, number: Any) -> None:
        """Expect no answer to this request: it was sent, or the client cancelled the request."""
        if isinstance(number, str | int):
            self._unanswered.discard(number)
            self._answered.set()

    def _gone(self) -> None:
        """Expect no answers any more: the client has closed both sides."""
        self._left = True
        self._answered.set()

    async def _answers_but(self, most: int) -> None:
        """Return when the client has got all answers but *most*, or is gone."""
        while len(self._unanswered) > most and not self._left:
            self._answered.clear()
            await self._answered.wait()


class _Lines:
    """Lines of a stream, the first of which may have arrived elsewhere."""

    def __init__(self, reader: asyncio.StreamReader, arrived: bytes) -> None:
        self._reader = reader
        *self._whole, self._rest = arrived.split(b"\n")

    async def next(self) -> bytes | None:
        """Return the next line that is not empty; None at the end."""
        while True:
            if self._whole:
                line = self._whole.pop(0)
            else:
                line = self._rest + await self._received()
                self._rest = b""
                if not line:
                    return None
            if line.strip():
                return line.strip()

    async def _received(self) -> bytes:
        """Return a line; one that is too long is left out, and what stands for it is no JSON."""
        too_long = False
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
            except asyncio.LimitOverrunError as overrun:
                await self._reader.readexactly(overrun.consumed)
                too_long = True
                continue
            return _TOO_LONG if too_long else line


def _refuse(writer: asyncio.StreamWriter, code: int, text: str, number: Any = None) -> None:
    error = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
    writer.write(json.dumps(error).encode() + b"\n")


def _id_of(message: dict[str, Any]) -> Any:
    number = message.get("id")
    return number if isinstance(number, str | int) else None
