"""The gateway's process: HTTP servers in front of whatever daemon there is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from typing import Any

from agent_pty import log
from agent_pty.core.http_access import Doorkeeper
from agent_pty.core.layout import Layout
from agent_pty.errors import BadRequest, DaemonError
from agent_pty.gateway.daemon_link import DaemonLink
from agent_pty.gateway.mcp_http import McpOverHttp
from agent_pty.gateway.token import token
from agent_pty.keeper.link import KeeperError, KeeperLink
from agent_pty.keeper.message import Connected, KeeperEvent
from agent_pty.keeper.signals import pass_over_foreign
from agent_pty.store import config
from agent_pty.transports.caller import Caller
from agent_pty.transports.control import Close, Leave, Listen, Mcp
from agent_pty.transports.http import application
from agent_pty.transports.http_server import HttpServer, bound
from agent_pty.words.tools.pty_client import PtyClient

_LOOK_SECONDS = 1.0
# What the present daemon has not asked for in this time, nobody wants any more.
_CLAIM_SECONDS = 60.0


def main(arguments: dict[str, Any]) -> None:
    """Serve until nobody needs it."""
    os.umask(0o077)
    pass_over_foreign()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(Gateway(Layout(**arguments["layout"])).run(arguments["daemon"]))


class Gateway:
    """Owns the HTTP servers, by address and port."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._idle_limit = config.load(layout).gateway.idle_seconds
        self._daemon = DaemonLink(self._serve, lost=self._leave_if_alone)
        self._keeper = self._new_link()
        self._servers: dict[tuple[str, int], HttpServer] = {}
        # Addresses that the present daemon has not asked for: the one before it had.
        self._unclaimed: set[tuple[str, int]] = set()
        self._changes: Any = None
        self._sessions: set[asyncio.Task[None]] = set()
        # One change at a time: an address is free again when its server has closed.
        self._changing = asyncio.Lock()
        self._left = asyncio.Event()
        self._used = self._seen = time.monotonic()

    def _new_link(self) -> KeeperLink:
        return KeeperLink(on_event=self._keeper_event, on_lost=self._leave_if_alone)

    def _leave_if_alone(self) -> None:
        """Without daemon and keeper, nobody can reach us; those that follow have another gateway.

        It must be able to listen where we do, so there is nothing to wait for.
        """
        if not self._daemon.connected and not self._keeper.connected:
            self._left.set()

    async def run(self, daemon: int) -> None:
        """Serve from now on; *daemon* is the first connection to a daemon."""
        self._daemon.use(daemon)
        while not self._left.is_set():
            await self._connect_keeper()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._left.wait()
            await self._look()
        for server in self._servers.values():
            await server.close()
        self._daemon.close()
        self._keeper.close()

    async def _connect_keeper(self) -> None:
        """The keeper tells us of new daemons; one that was replaced must know us."""
        if self._keeper.connected:
            return
        self._keeper = self._new_link()
        with contextlib.suppress(OSError, KeeperError):  # the next attempt is in a second
            path = self._layout.keeper_socket
            await self._keeper.connect(path, role="gateway", name=str(os.getpid()))

    def _keeper_event(self, event: KeeperEvent, fds: tuple[int, ...]) -> None:
        if isinstance(event, Connected) and len(fds) == 1:
            self._unclaimed = set(self._servers)
            self._seen = time.monotonic()
            self._daemon.use(fds[0])
            return
        for fd in fds:
            os.close(fd)

    async def _look(self) -> None:
        """End what nobody wants any more, and us if nothing is left."""
        now = time.monotonic()
        if self._daemon.connected:
            if now - self._seen > _CLAIM_SECONDS:
                for place in list(self._unclaimed):
                    await self._close(Close(address=place[0], port=place[1]))
        else:
            self._unclaimed = set(self._servers)
        if self._servers or self._sessions or self._daemon.busy:
            self._used = now
        if not self._daemon.connected:
            self._seen = now
        if self._idle_limit and now - self._used > self._idle_limit:
            self._left.set()
        self._leave_if_alone()

    # -- what the daemon asks for

    async def _serve(self, asked: Any, fds: tuple[int, ...]) -> Any:
        if not isinstance(asked, Mcp):
            for fd in fds:
                os.close(fd)
        self._used = time.monotonic()
        match asked:
            case Listen():
                async with self._changing:
                    return self._listen(asked)
            case Close():
                return await self._close(asked)
            case Mcp():
                self._speak_mcp(asked, fds)
                return None
            case Leave():
                self._left.set()
                return None
        raise BadRequest(f"a gateway does not know {type(asked).__name__}")

    def _speak_mcp(self, asked: Mcp, fds: tuple[int, ...]) -> None:
        (fd,) = fds
        with contextlib.ExitStack() as stack:
            sock = stack.enter_context(socket.socket(fileno=fd))
            # The SDK takes more than a second to import: only who speaks MCP waits for it.
            from agent_pty.gateway.mcp_server import mcp_server  # noqa: PLC0415
            from agent_pty.gateway.mcp_session import McpSession  # noqa: PLC0415

            caller = Caller(transport="mcp", uid=asked.uid, pid=asked.pid)
            pty = PtyClient.found_again(
                self._layout,
                asked.client,
                cwd=asked.cwd or "/",
                environment=asked.environment,
            )
            server = mcp_server(
                self._daemon.handle,
                lambda _: caller,
                asked.tools,
                pty,
                changes=self._session_changes(),
                client=asked.client,
            )
            session = McpSession(server, sock, asked.arrived.encode("latin-1"))
            stack.pop_all()  # the session owns the connection now
        task = asyncio.get_running_loop().create_task(session.run())
        self._sessions.add(task)
        task.add_done_callback(self._ended)
        # One that is cancelled goes on with the next gateway.
        task.add_done_callback(lambda done: None if done.cancelled() else pty.leave())

    def _session_changes(self) -> Any:
        """Return what all MCP clients share, made for the first of them."""
        from agent_pty.gateway.session_changes import SessionChanges  # noqa: PLC0415  see above

        if self._changes is None:
            self._changes = SessionChanges(self._daemon.handle)
        return self._changes

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._sessions.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error(error)

    def _listen(self, asked: Listen) -> dict[str, Any]:
        place = (asked.address, asked.port)
        self._unclaimed.discard(place)
        if place not in self._servers:
            handle, sock = self._daemon.handle, bound(*place)
            place = (asked.address, sock.getsockname()[1])
            try:
                home = os.path.expanduser("~")
                pty = PtyClient(layout=self._layout, cwd=home)
                mcp = McpOverHttp(handle, pty, self._session_changes)
                app = application(handle, self._doorkeeper(*place), mcp=mcp)
            except (OSError, ValueError) as error:
                sock.close()
                raise DaemonError(str(error)) from error
            self._servers[place] = HttpServer(app, sock, ended=mcp.close)
            self._servers[place].start()
            log.line(f"gateway: serves HTTP at {place[0]}:{place[1]}")
        shown = f"[{place[0]}]" if ":" in place[0] else place[0]
        return {
            "address": place[0],
            "port": place[1],
            "url": f"http://{shown}:{place[1]}",
            "token_file": self._layout.http_token,
        }

    def _doorkeeper(self, address: str, port: int) -> Doorkeeper:
        return Doorkeeper(
            address=address,
            port=port,
            uid=os.getuid(),
            token=token(self._layout.http_token),
            token_path=self._layout.http_token,
        )

    async def _close(self, asked: Close) -> None:
        place = (asked.address, asked.port)
        self._unclaimed.discard(place)
        async with self._changing:
            server = self._servers.pop(place, None)
            if server is None:
                return
            await server.close()
            log.line(f"gateway: serves HTTP at {place[0]}:{place[1]} no longer")
