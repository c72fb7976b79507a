"""A connection to the keeper for programs that run on asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from agent_pty.keeper.channel import ChannelClosed, Message
from agent_pty.keeper.loop_channel import LoopChannel
from agent_pty.keeper.message import EVENTS, Hello, Holdings, KeeperEvent, KeeperRequest

Answer = TypeVar("Answer")


class KeeperError(Exception):
    """The keeper could not do what was asked; *why* has the stage, the reason and the errno."""

    def __init__(self, why: dict[str, Any]) -> None:
        super().__init__(str(why.get("reason")))
        self.why = why


class KeeperLink:
    """Sends requests to the keeper and receives its events.

    *on_event* owns the descriptors it is given; *on_lost* is called once, when the keeper is
    gone, after every open request has failed.
    """

    def __init__(
        self,
        *,
        on_event: Callable[[KeeperEvent, tuple[int, ...]], None],
        on_lost: Callable[[], None],
    ) -> None:
        self._on_event = on_event
        self._on_lost = on_lost
        self._open: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self._channel: LoopChannel | None = None

    async def connect(self, path: str, *, role: str, name: str = "") -> Holdings:
        """Connect as *role* and return what the keeper holds."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_connect(sock, path)
        except BaseException:
            sock.close()
            raise
        self._channel = LoopChannel(sock, receive=self._receive, lost=self._lost)
        return await self.ask(Hello(role=role, name=name))

    @property
    def connected(self) -> bool:
        """Whether the connection is open, as far as is known."""
        return self._channel is not None

    async def ask(self, request: KeeperRequest[Answer], fds: Sequence[int] = ()) -> Answer:
        """Send a request and return its answer, or raise `KeeperError`."""
        channel = self._channel
        if channel is None:
            raise ChannelClosed("the keeper is gone")
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        try:
            channel.post({"do": request.do, **request.to_wire(), "seq": number}, fds)
            answered: Any = request.answer.from_wire(await answer)
            return answered  # type: ignore[no-any-return]  # `answer` is the type parameter
        finally:
            self._open.pop(number, None)

    def tell(self, request: KeeperRequest[Answer]) -> None:
        """Send a request that has no answer; nothing if the keeper is gone."""
        if self._channel is not None:
            with contextlib.suppress(ChannelClosed):
                self._channel.post({"do": request.do, **request.to_wire()})

    def _receive(self, message: Message) -> None:
        if "re" not in message.body:
            self._event(message)
            return
        answer = self._open.get(message.body["re"])
        if answer is None or answer.done():
            return
        if "error" in message.body:
            answer.set_exception(KeeperError(message.body["error"]))
        else:
            answer.set_result(message.body)

    def _event(self, message: Message) -> None:
        kind = EVENTS.get(message.body.get("event", ""))
        if kind is not None:
            self._on_event(kind.from_wire(message.body), message.fds)
            return
        for fd in message.fds:  # an event of a later build
            os.close(fd)

    def _lost(self) -> None:
        if self._channel is None:
            return
        self.close()
        self._on_lost()

    def close(self) -> None:
        """Close the connection; open requests fail."""
        channel, self._channel = self._channel, None
        if channel is None:
            return
        channel.close()
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(ChannelClosed("the keeper is gone"))
