"""Streams over HTTP: server-sent events, as slowly as the client reads."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
from collections.abc import Awaitable, Generator

import msgspec
from starlette.types import Receive, Scope, Send

from agent_pty.ops.op import Carries
from agent_pty.transports.caller import Streaming

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
# A proxy or a browser gives up on a connection on which nothing is sent for a minute.
_PING_SECONDS = 20.0


class _Numbered(msgspec.Struct):
    """What is read of an event; one that stands for others that were missed has no number."""

    seq: int | None = None


_number = msgspec.json.Decoder(_Numbered)


class EventStream:
    """Answers with one event for each line, or each piece of text; ends when the client leaves.

    *first* is a line that comes before those of the stream.
    """

    def __init__(
        self, answer: Streaming, *, carries: Carries = "lines", first: bytes = b""
    ) -> None:
        self._answer = answer
        self._first = first
        self._events = _lines() if carries == "lines" else _texts()
        next(self._events)

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Be the response."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})

        async def say(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        async def hear(data: bytes) -> None:
            if events := self._events.send(data):
                await say(events)

        async def ping() -> None:
            while True:
                await asyncio.sleep(_PING_SECONDS)
                await say(b": still here\n\n")

        async def left() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        async def pour() -> None:
            await hear(self._first)
            await self._answer.pour(hear)

        await first_of(pour(), ping(), left())
        with contextlib.suppress(OSError):  # it left
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _lines() -> Generator[bytes, bytes, None]:
    """Turn bytes into an event for each line."""
    rest, events = b"", b""
    while True:
        *lines, rest = (rest + (yield events)).split(b"\n")
        events = b"".join(_numbered(line) + b"data: " + line + b"\n\n" for line in lines)


def _numbered(line: bytes) -> bytes:
    """Return the `id` of an event: a browser that connects again says which it saw last."""
    number = _number.decode(line).seq
    return b"" if number is None else b"id: %d\n" % number


def _texts() -> Generator[bytes, bytes, None]:
    """Turn bytes into events with a text in JSON: a carriage return would end a line."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    events = b""
    while True:
        text = decoder.decode((yield events))
        events = b"data: " + msgspec.json.encode({"text": text}) + b"\n\n" if text else b""


async def first_of(*works: Awaitable[None]) -> None:
    """Run until the first of these ends, and raise its error; the others are cancelled."""

    async def run(work: Awaitable[None]) -> None:
        await work

    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(run(work)) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
