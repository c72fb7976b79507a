"""The HTTP surface in front of a `handle` that the test controls."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable

import pytest
from starlette.responses import Response
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from agent_pty.core.http_access import Doorkeeper
from agent_pty.transports.caller import Caller, Handle, Hear, Streaming
from agent_pty.transports.http import application
from agent_pty.transports.http_server import HttpServer, bound
from support.turn import turns

_HEAD = b'{"ok":true,"data":{"type":"watching"},"error":null}'
_WAIT = b'{"op":"wait","id":"x","until":"never"}'

Story = Callable[[int], Awaitable[None]]


async def _nothing() -> None:
    pass


def serve(
    handle: Handle, story: Story, *, afterwards: Callable[[], Awaitable[None]] = _nothing
) -> None:
    """Serve *handle* on a free port while *story*, which gets the port, is told."""

    async def told() -> None:
        sock = bound("127.0.0.1", 0)
        port = sock.getsockname()[1]
        doorkeeper = Doorkeeper(
            address="127.0.0.1", port=port, uid=os.getuid(), token="t" * 32, token_path="t"
        )
        app = application(handle, doorkeeper, mcp=Response())
        server = HttpServer(app, sock, ended=_nothing)
        server.start()
        try:
            async with asyncio.timeout(30):
                await story(port)
        finally:
            await server.close()
        await afterwards()

    asyncio.run(told())


class Waiting:
    """A `handle` that never answers, and knows when it is asked and cancelled."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def handle(self, _payload: bytes, _caller: Caller) -> bytes | Streaming:
        """Wait for ever."""
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return b""


class Pouring:
    """A `handle` that answers with a stream without end, and knows when it is closed."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece
        self.given: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed = asyncio.Event()
        self.poured = 0

    async def handle(self, _payload: bytes, _caller: Caller) -> bytes | Streaming:
        """Open the stream."""
        return Streaming(head=_HEAD, pour=self._pour, give=self.given.put_nowait)

    async def _pour(self, hear: Hear) -> None:
        try:
            while True:
                await hear(self.piece)
                self.poured += len(self.piece)
                await turns()  # what comes from a daemon is awaited, too
        finally:
            self.closed.set()


def _post(port: int, body: bytes) -> bytes:
    head = (
        f"POST /request HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _served_another(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /ops HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    assert b" 200 " in await reader.readline()
    writer.close()


def test_a_client_that_leaves_cancels_its_request() -> None:
    """
    A request over HTTP ends with its connection.
    """
    waiting = Waiting()

    async def story(port: int) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_post(port, _WAIT))
        await waiting.asked.wait()
        writer.close()
        await waiting.cancelled.wait()

    serve(waiting.handle, story)


def test_a_server_that_closes_says_so_to_those_who_wait() -> None:
    """
    A request that is cut off by the end of its server is answered with an envelope, too.
    """
    waiting = Waiting()
    answers: list[asyncio.Task[bytes]] = []
    writers: list[asyncio.StreamWriter] = []

    async def story(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_post(port, _WAIT))
        await waiting.asked.wait()
        writers.append(writer)
        answers.append(asyncio.get_running_loop().create_task(reader.read()))

    async def answered() -> None:
        answer = await answers[0]
        writers[0].close()
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "daemon_error"

    serve(waiting.handle, story, afterwards=answered)


def test_a_client_that_leaves_a_websocket_cancels_its_request() -> None:
    """
    A request over a WebSocket ends with its connection, also before its answer.
    """
    waiting = Waiting()

    async def story(port: int) -> None:
        async with connect(f"ws://127.0.0.1:{port}/stream") as socket:
            await socket.send(_WAIT)
            await waiting.asked.wait()
        await waiting.cancelled.wait()

    serve(waiting.handle, story)


def test_input_may_follow_the_request_at_once() -> None:
    """
    What a WebSocket client sends before it has the envelope is input of its stream, in order.
    """
    pouring = Pouring(b"x")

    async def story(port: int) -> None:
        async with connect(f"ws://127.0.0.1:{port}/stream") as socket:
            await socket.send(b'{"op":"attach","id":"x"}')
            await socket.send(b"one")
            await socket.send("two")
            assert json.loads(await socket.recv())["ok"] is True
            assert await socket.recv() == b"x"
            assert [await pouring.given.get(), await pouring.given.get()] == [b"one", b"two"]
        await pouring.closed.wait()

    serve(pouring.handle, story)


@pytest.mark.parametrize("path", ["/request", "/stream"])
def test_a_reader_that_stands_still_is_not_written_for(path: str) -> None:
    """
    A stream is as fast as its reader: what nobody reads is not made, and others are served.
    """
    pouring = Pouring(b"y" * 65535 + b"\n")

    async def stood_still(port: int) -> None:
        """Return when nothing more was made while others were served."""
        before = -1
        while pouring.poured != before:
            before = pouring.poured
            for _ in range(20):
                await _served_another(port)

    async def story(port: int) -> None:
        if path == "/request":
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
            writer.write(_post(port, b'{"op":"watch"}'))
            await reader.readexactly(1)
            await stood_still(port)
            writer.transport.abort()
        else:
            async with connect(f"ws://127.0.0.1:{port}{path}", max_queue=1) as socket:
                await socket.send(b'{"op":"attach","id":"x"}')
                await stood_still(port)
                socket.transport.abort()
        assert pouring.poured < 32 * 1024 * 1024
        await pouring.closed.wait()

    serve(pouring.handle, story)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Authorization": "Bearer wrong"}, 401),
    ],
)
def test_a_websocket_is_refused_with_an_envelope(headers: dict[str, str], status: int) -> None:
    """
    The rules for pages and strangers hold for WebSockets, and the answer says which one.
    """

    async def story(port: int) -> None:
        with pytest.raises(InvalidStatus) as refused:
            async with connect(f"ws://127.0.0.1:{port}/stream", additional_headers=headers):
                pass
        response = refused.value.response
        assert response.status_code == status
        assert json.loads(response.body or b"")["ok"] is False

    serve(Waiting().handle, story)


def test_a_terminal_as_events_is_text_in_json() -> None:
    """
    Output of a terminal has carriage returns and half characters; an event carries neither.
    """

    async def handle(_payload: bytes, _caller: Caller) -> bytes | Streaming:
        async def pour(hear: Hear) -> None:
            for piece in (b"\xc3", b"\xa9\r\nb", b"\x1b[1m"):
                await hear(piece)

        return Streaming(head=_HEAD, pour=pour)

    async def story(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_post(port, b'{"op":"attach","id":"x"}'))
        answer = await reader.readuntil(b"0\r\n\r\n")
        lines = [line for line in answer.split(b"\r\n") if line.startswith(b"data: ")]
        texts = [json.loads(line.strip().removeprefix(b"data: "))["text"] for line in lines]
        assert texts == ["é\r\nb", "\x1b[1m"]
        writer.close()

    serve(handle, story)
