"""`watch`: follow a session as people like to see it, until it ends or they have seen enough."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from agent_pty.errors import AgentPtyError
from agent_pty.words.call import Call
from agent_pty.words.cell import resolved
from agent_pty.words.followed import Followed
from agent_pty.words.history import dim, line_of
from agent_pty.words.session import find, living

_ENDS = ("exited", "killed", "lost")


async def watch(call: Call, words: list[str]) -> int:
    """Follow text and cells."""
    name = await resolved(call, words[0] if words else None)
    followed = Followed(call)
    follower = _Follower(call, name)
    if followed.resumed:
        follower.resume(followed.state)
        if await find(call, name) is None:  # killed while there was no daemon
            await call.output.line(dim("closed"))
            return 0
    else:
        await living(call, name)
        await call.output.line(dim(f"watching {name} (ctrl-c to stop)") + "\n")
        await follower.begin()
        followed.remember(follower.state)
    async for event in events(call, followed, name):
        if event is None:
            await call.output.line(dim("stopped"))
            return 0
        await follower.take(event)
        await followed.settle(follower.state)
        if event["event"] in _ENDS:
            await call.output.line(dim("closed"))
            return 0
    return 1


async def events(
    call: Call, followed: Followed, name: str | None
) -> AsyncIterator[dict[str, Any] | None]:
    """Yield events of a session (None: of all); None is Ctrl-C and the last.

    If they end by themselves, nobody can report them any more.
    """
    source = followed.events(name, announce=True)
    loop = asyncio.get_running_loop()
    stop = loop.create_task(call.interrupted.wait())
    try:
        while True:
            step = loop.create_task(_next(source))
            await asyncio.wait({step, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not step.done():
                step.cancel()
                with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
                    await step
                yield None
                return
            event = step.result()
            if event is None:
                return
            yield event
    finally:
        stop.cancel()
        with contextlib.suppress(RuntimeError):
            await source.aclose()  # type: ignore[attr-defined]


async def _next(source: AsyncIterator[dict[str, Any]]) -> dict[str, Any] | None:
    return await anext(source, None)


class _Follower:
    """Says new lines once they are whole."""

    def __init__(self, call: Call, name: str) -> None:
        self._call = call
        self._name = name
        self._cursor = 0
        self._last = ""

    @property
    def state(self) -> list[Any]:
        """What `resume` needs to continue."""
        return [self._cursor, self._last]

    def resume(self, state: list[Any] | None) -> None:
        if state is not None:
            self._cursor, self._last = state

    async def begin(self) -> None:
        page = await self._call.ops.ask("read", id=self._name, tail=0)
        self._cursor = page["cursor"]

    async def take(self, event: dict[str, Any]) -> None:
        if event["event"] in ("output", "cell", "notify", *_ENDS):
            with contextlib.suppress(AgentPtyError):  # it may be gone already
                await self._text(event.get("cursor"), to_the_end=event["event"] in _ENDS)
        if event["event"] == "cell":
            code = event.get("exit_code")
            entry = {"kind": event["status"], "text": event["cell_id"], "who": ""}
            await self._say({**entry, "exit_code": code})
        elif event["event"] == "notify":
            await self._say({"kind": "notify", "text": event["message"], "who": event["from"]})

    async def _text(self, upto: int | None, *, to_the_end: bool) -> None:
        """Say the lines that are finished, up to a cursor; the rest is read again later."""
        more = True
        while more:
            page = await self._call.ops.ask("read", id=self._name, since=self._cursor)
            late = max(0, page["cursor"] - upto) if upto is not None else 0
            data = page["text"].encode()
            text = data[: max(0, len(data) - late)].decode(errors="replace")
            *lines, rest = text.split("\n")
            for line in [*lines, rest] if to_the_end else lines:
                await self._say({"kind": "text", "text": line, "who": ""})
            left = 0 if to_the_end else len(rest.encode())
            self._cursor = page["cursor"] - min(late, len(data)) - left
            more = page["more"] and bool(lines) and not late

    async def _say(self, entry: dict[str, Any]) -> None:
        line = line_of(entry)
        if line is not None and line != self._last:
            self._last = line
            await self._call.output.line(line)
