"""The private connection between daemon and gateway: messages with descriptors, both ways.

The gateway sends `Connect` with one end of a socket pair, which the daemon then serves like a
connection of a client: for the caller that the message names. Nobody else can say for whom they
ask. The daemon sends `Listen`, `Close`, `Mcp` and `Leave`; each request of either side is answered.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from agent_pty.errors import AgentPtyError, DaemonError, from_wire
from agent_pty.keeper.channel import ChannelClosed, Message
from agent_pty.keeper.loop_channel import LoopChannel
from agent_pty.ops.op import unexpected


class Connect(Struct, frozen=True, kw_only=True, tag_field="do", tag="connect"):
    """Serve the descriptor that comes along, for this caller."""

    transport: str
    uid: int | None = None
    pid: int | None = None


class Listen(Struct, frozen=True, kw_only=True, tag_field="do", tag="listen"):
    """Serve HTTP at this address until `Close`; repeated, nothing happens."""

    address: str
    port: int
    remote: bool = False


class Close(Struct, frozen=True, kw_only=True, tag_field="do", tag="close"):
    """Serve HTTP at this address no longer."""

    address: str
    port: int


class Mcp(Struct, frozen=True, kw_only=True, tag_field="do", tag="mcp"):
    """Speak MCP with the client whose connection comes along; *arrived* is what it sent."""

    tools: str
    client: str = ""
    uid: int | None = None
    pid: int | None = None
    arrived: str = ""  # one character for each byte
    cwd: str = ""
    environment: dict[str, str] | None = None


class Leave(Struct, frozen=True, kw_only=True, tag_field="do", tag="leave"):
    """End: the daemon is being stopped, or another build follows."""


Asked = Connect | Listen | Close | Mcp | Leave
# Carries out a request; what it returns is the answer. It owns the descriptors.
Serve = Callable[[Any, tuple[int, ...]], Any]


class ControlLink:
    """One end. *serve* answers requests of the other end; *lost* is called once at the end."""

    def __init__(self, sock: socket.socket, *, serve: Serve, lost: Callable[[], None]) -> None:
        self._channel: LoopChannel | None = LoopChannel(
            sock, receive=self._receive, lost=self._lost
        )
        self._serve = serve
        self._on_lost = lost
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def connected(self) -> bool:
        """Whether the other end was there when last heard of."""
        return self._channel is not None

    async def ask(self, asked: Asked, fds: Sequence[int] = ()) -> Any:
        """Send a request and return its answer, or raise the error it carries."""
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._post({**msgspec.to_builtins(asked), "seq": number}, fds)
        self._open[number] = answer
        try:
            return await answer
        finally:
            self._open.pop(number, None)

    def _post(self, body: dict[str, Any], fds: Sequence[int] = ()) -> None:
        if self._channel is None:
            raise _gone()
        try:
            self._channel.post(body, fds)
        except ChannelClosed as error:
            self._lost()  # whoever asks again must see that this connection is none
            raise _gone() from error

    def _receive(self, message: Message) -> None:
        if "re" in message.body:
            self._answered(message.body)
            return
        task = asyncio.get_running_loop().create_task(self._answer(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _answered(self, body: dict[str, Any]) -> None:
        answer = self._open.get(body["re"])
        if answer is None or answer.done():
            return
        if "error" in body:
            answer.set_exception(from_wire(body["code"], body["error"], body["details"]))
        else:
            answer.set_result(body.get("data"))

    async def _answer(self, message: Message) -> None:
        number = message.body.pop("seq", None)
        try:
            asked: Asked = msgspec.convert(message.body, Asked)
        except msgspec.ValidationError as error:  # of another build
            for fd in message.fds:
                os.close(fd)
            self._reply({"re": number, "error": str(error), "code": "bad_request", "details": {}})
            return
        try:
            self._reply({"re": number, "data": await self._serve(asked, message.fds)})
        except Exception as error:  # noqa: BLE001  the other end must get an answer
            told = error if isinstance(error, AgentPtyError) else unexpected(error)
            said = {"error": str(told), "code": told.code, "details": told.details}
            self._reply({"re": number, **said})

    def _reply(self, body: dict[str, Any]) -> None:
        if self._channel is not None:
            self._post(body)

    def _lost(self) -> None:
        if self._channel is not None:
            self.close()
            self._on_lost()

    def close(self) -> None:
        """Hang up; open requests fail."""
        channel, self._channel = self._channel, None
        if channel is None:
            return
        channel.close()
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(_gone())


def _gone() -> DaemonError:
    return DaemonError("the connection between daemon and gateway was lost; ask again")
