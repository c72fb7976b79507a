"""The daemon's side of a host's socket: many requests at once, and a pulse."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any, cast

import msgspec

from agent_pty.core.frame import Frame, FrameReader, Garbage, Kind, encoded
from agent_pty.errors import AgentPtyError, HostLost, HostUnresponsive, from_wire

_BEAT = 1.0
# Beats without a sign of life. Counted, not timed: a suspended machine misses none.
_MISSED = 4


class HostLink(asyncio.Protocol):
    """One host. *on_lost* is called once, after every open request has failed."""

    def __init__(self, name: str, pid: int | None, on_lost: Callable[[HostLink], None]) -> None:
        self.name = name
        self.pid = pid
        self.responsive = True
        self._on_lost = on_lost
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None
        self._open: dict[int, asyncio.Future[bytes]] = {}
        self._numbers = itertools.count(1)
        self._beat: asyncio.TimerHandle | None = None
        self._missed = 0

    @property
    def connected(self) -> bool:
        """Whether the host was there when last heard of."""
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be ready for requests."""
        self._transport = cast("asyncio.Transport", transport)

    async def request(self, header: dict[str, Any], payload: bytes = b"") -> bytes:
        """Return the host's answer as it is; cancelling cancels it there too."""
        if not self.connected or self._transport is None:
            raise self._lost_error()
        number = next(self._numbers)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        body = json.dumps(header).encode() + b"\n" + payload
        self._transport.write(encoded(Frame(kind=Kind.REQUEST, number=number, body=body)))
        self._keep_beating()
        try:
            return await answer
        except asyncio.CancelledError:
            self._send(Frame(kind=Kind.CANCEL, number=number))
            raise
        finally:
            self._open.pop(number, None)

    async def control(self, what: str, /, **arguments: Any) -> Any:
        """Ask the host about itself or its sessions; raise what it answers."""
        answer = msgspec.json.decode(await self.request({"control": what, **arguments}))
        if answer["ok"]:
            return answer["data"]
        raise from_wire(answer["code"], answer["error"], answer["details"])

    def data_received(self, data: bytes) -> None:
        """Resolve what was answered; anything at all is a sign of life."""
        self._missed = 0
        self.responsive = True
        try:
            frames = self._reader.feed(data)
        except Garbage:
            self.close()
            return
        for frame in frames:
            answer = self._open.get(frame.number)
            if frame.kind is Kind.RESPONSE and answer is not None and not answer.done():
                answer.set_result(frame.body)

    def _keep_beating(self) -> None:
        """Beat while something is asked: an idle host costs nothing."""
        if self._beat is None and self._open:
            self._beat = asyncio.get_running_loop().call_later(_BEAT, self._on_beat)

    def _on_beat(self) -> None:
        self._beat = None
        if not self._open:
            self._missed = 0
            return
        self._missed += 1
        if self._missed > _MISSED:
            self.responsive = False
            self._missed = 0
            self._fail_all(
                HostUnresponsive(
                    f"host {self.name} (pid {self.pid}) does not answer: "
                    "whether it acted is unknown",
                    host_pid=self.pid,
                    delivery="unknown",
                )
            )
        self._send(Frame(kind=Kind.PING))
        self._keep_beating()

    def _send(self, frame: Frame) -> None:
        if self.connected and self._transport is not None:
            self._transport.write(encoded(frame))

    def _lost_error(self) -> HostLost:
        return HostLost(
            f"host {self.name} (pid {self.pid}) was lost: whether it acted is unknown",
            host_pid=self.pid,
            delivery="unknown",
        )

    def _fail_all(self, error: AgentPtyError) -> None:
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail what is open, then let the owner find a replacement."""
        del exc
        if self._beat is not None:
            self._beat.cancel()
        self._fail_all(self._lost_error())
        self._on_lost(self)

    def close(self) -> None:
        """Cut the connection."""
        if self._transport is not None:
            self._transport.abort()
