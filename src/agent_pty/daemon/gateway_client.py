"""The daemon's connection to the gateway: the process that speaks HTTP and MCP for others."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from agent_pty import log
from agent_pty.core.layout import Layout
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.errors import AgentPtyError, BadRequest, DaemonError
from agent_pty.keeper.link import KeeperError
from agent_pty.keeper.message import Fork
from agent_pty.ops.mcp import Mcp as McpWanted
from agent_pty.store import config
from agent_pty.transports.caller import Caller
from agent_pty.transports.control import Close, Connect, ControlLink, Leave, Listen, Mcp

# Starting it means importing its libraries; on a busy machine that takes seconds.
_START_SECONDS = 30.0
_LEAVE_SECONDS = 2.0
_MOST_ATTEMPTS = 8
_PAUSE = 0.1

Take = Callable[[socket.socket, bytes], Awaitable[None]]
Adopt = Callable[[socket.socket, Caller], Awaitable[None]]


class GatewayClient:
    """Has the keeper start the gateway when it is needed; *adopt* serves its connections."""

    def __init__(self, layout: Layout, keeper: KeeperClient, adopt: Adopt) -> None:
        self._layout = layout
        self._keeper = keeper
        self._adopt = adopt
        self._link: ControlLink | None = None
        self._lost = asyncio.Event()
        self._starting = asyncio.Lock()
        # How many streams want an address to be served.
        self._wanted: Counter[tuple[str, int]] = Counter()
        self._urls: dict[tuple[str, int], str] = {}
        self._pid: int | None = None

    @property
    def connected(self) -> bool:
        """Whether there is a gateway that is connected to us."""
        return self._link is not None and self._link.connected

    @property
    def facts(self) -> dict[str, Any] | None:
        """What `status` tells of it; None: there is none."""
        return {"pid": self._pid, "urls": sorted(self._urls.values())} if self.connected else None

    async def begin(self, existing: int | None) -> None:
        """Connect to the gateway that is there; start one if the configuration wants that.

        The daemon starts whatever happens here: its sessions do not need a gateway.
        """
        try:
            if existing is not None or config.load(self._layout).gateway.warm:
                await self.connect()
        except AgentPtyError as error:
            log.line(f"daemon: no gateway: {error}")

    async def connect(self) -> ControlLink:
        """Return the connection; start the gateway first if there is none."""
        async with self._starting:
            if self._link is None or not self._link.connected:
                self._link = await self._connected()
            return self._link

    async def _connected(self) -> ControlLink:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                forked = await self._keeper.ask(Fork(role="gateway"), [theirs.fileno()])
                self._pid = forked.pid or None
            except KeeperError as error:
                ours.close()
                raise DaemonError(f"cannot start the gateway: {error}") from error
            except BaseException:
                ours.close()
                raise
        self._lost = lost = asyncio.Event()
        return ControlLink(ours, serve=self._serve, lost=lost.set)

    async def _serve(self, asked: Any, fds: tuple[int, ...]) -> None:
        if not isinstance(asked, Connect) or len(fds) != 1:
            for fd in fds:
                os.close(fd)
            raise BadRequest(f"a gateway may not ask for {type(asked).__name__}")
        caller = Caller(transport=asked.transport, uid=asked.uid, pid=asked.pid)
        await self._adopt(socket.socket(fileno=fds[0]), caller)

    async def serve_http(self, address: str, port: int, *, remote: bool) -> AsyncIterator[bytes]:
        """Have HTTP served as long as the result is iterated over; it says where.

        A gateway that dies is replaced, and the next one listens at the same port.
        """
        first = await self._listen(Listen(address=address, port=port, remote=remote))
        return self._served(first, remote=remote)

    async def _listen(self, wanted: Listen) -> dict[str, Any]:
        for attempt in range(_MOST_ATTEMPTS):
            await asyncio.sleep(attempt * _PAUSE)
            if not self.connected:
                config.load(self._layout)  # a gateway could not tell anybody what is wrong there
            link = await self.connect()
            try:
                async with asyncio.timeout(_START_SECONDS):
                    told: dict[str, Any] = await link.ask(wanted)
            except TimeoutError:
                raise DaemonError("the gateway does not answer: see daemon.log") from None
            except DaemonError:
                if link.connected:
                    raise
                # It was dying when the keeper passed our connection on; the keeper must notice.
                continue
            return told
        raise DaemonError("the gateway dies again and again: see daemon.log")

    async def _served(self, told: dict[str, Any], *, remote: bool) -> AsyncIterator[bytes]:
        place = (told["address"], told["port"])
        self._wanted[place] += 1
        self._urls[place] = told["url"]
        try:
            while True:
                yield msgspec.json.encode({"event": "listening", **told}) + b"\n"
                await self._lost.wait()
                told = await self._listen(Listen(address=place[0], port=place[1], remote=remote))
        finally:
            self._wanted[place] -= 1
            if not self._wanted[place]:
                del self._wanted[place], self._urls[place]
                await self._close(place)

    async def _close(self, place: tuple[str, int]) -> None:
        if self._link is not None and self._link.connected:
            with contextlib.suppress(AgentPtyError):  # gone: then nothing is served there
                await self._link.ask(Close(address=place[0], port=place[1]))

    async def mcp(self, wanted: McpWanted, caller: Caller) -> Take:
        """Return what gives a client's connection to the gateway, which speaks MCP with it."""
        if not self.connected:
            config.load(self._layout)  # a gateway could not tell anybody what is wrong there
        link = await self.connect()

        async def take(sock: socket.socket, arrived: bytes) -> None:
            with sock:
                text = arrived.decode("latin-1")
                asked = Mcp(
                    tools=wanted.tools,
                    client=wanted.client,
                    cwd=wanted.cwd,
                    environment=wanted.environment,
                    uid=caller.uid,
                    pid=caller.pid,
                    arrived=text,
                )
                await link.ask(asked, [sock.fileno()])

        return take

    async def leave(self) -> None:
        """End the gateway, if there is one."""
        if self._link is not None and self._link.connected:
            with contextlib.suppress(AgentPtyError, TimeoutError):
                async with asyncio.timeout(_LEAVE_SECONDS):
                    await self._link.ask(Leave())
        self.close()

    def close(self) -> None:
        """Let go of the gateway; it waits for the next daemon."""
        if self._link is not None:
            self._link.close()
