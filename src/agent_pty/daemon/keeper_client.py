"""The daemon's connection to the keeper, and a new keeper when the old one is gone."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import errno
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from agent_pty import log
from agent_pty.client.start import start_keeper
from agent_pty.core.layout import Layout
from agent_pty.errors import AgentPtyError, Busy, DaemonError, GuardUnavailable, SpawnFailed
from agent_pty.keeper.channel import ChannelClosed
from agent_pty.keeper.link import KeeperError, KeeperLink
from agent_pty.keeper.message import (
    Holdings,
    KeeperEvent,
    KeeperRequest,
    Leaving,
    Listening,
    Relisten,
    Spawn,
    Spawned,
    Stop,
)
from agent_pty.process.exit_watch import ExitWatch
from agent_pty.store.lock import held

Answer = TypeVar("Answer")

_START_SECONDS = 20.0
# Between two attempts to start a keeper; the pause doubles up to the longest one.
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 5.0
# How long a request waits for a keeper after an attempt to start one has failed.
_DEGRADED_SECONDS = 2.0
_GONE_SECONDS = 1.0
_EXHAUSTED = {"ENOSPC", "EMFILE", "ENFILE", "EAGAIN", "ENOMEM"}


class KeeperClient:
    """Connects to the keeper, and starts another one when it is gone, as often as necessary.

    *on_event* gets its events, *on_new* is called after a replacement.
    *relisten* is called when a client did not find the daemon's socket.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        on_event: Callable[[KeeperEvent], None],
        on_new: Callable[[], Awaitable[None]],
        relisten: Callable[[], Awaitable[None]],
    ) -> None:
        self._layout = layout
        self._on_event = on_event
        self._on_new = on_new
        self._relisten = relisten
        self._listener: socket.socket | None = None
        self._link = self._new_link()
        self._ready = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._attempt = asyncio.Lock()
        self._lost_at = ""
        self._trouble: str | None = None
        self.pid: int | None = None
        self.build: str | None = None

    def _new_link(self) -> KeeperLink:
        return KeeperLink(on_event=self._event, on_lost=self._lost)

    def _event(self, event: KeeperEvent, fds: tuple[int, ...]) -> None:
        if isinstance(event, Relisten):
            for ready in fds:  # without a free descriptor it was dropped
                self._hold(self._listen_again(ready))
        else:
            self._on_event(event)

    async def _listen_again(self, ready: int) -> None:
        """See that clients find the socket, and report that on the descriptor *ready*."""
        try:
            await self._relisten()
            with contextlib.suppress(BrokenPipeError):  # the client gave up
                os.write(ready, b"1")
        finally:
            os.close(ready)

    async def hold(self, listener: socket.socket) -> None:
        """Have the keeper hold a duplicate of our listening socket, for the next daemon."""
        self._listener = listener
        with contextlib.suppress(KeeperError):  # a keeper of an earlier build holds none
            await self.ask(Listening(), [listener.fileno()])

    async def leave(self, *, successor: bool) -> None:
        """Leave the keeper to the next daemon; with *successor*, that one comes now."""
        self._stopping = True
        with contextlib.suppress(ChannelClosed, KeeperError, TimeoutError):
            async with asyncio.timeout(_GONE_SECONDS):
                await self._link.ask(Leaving(successor=successor))
        self.disconnect()

    def disconnect(self) -> None:
        """Close the connection; no other keeper is started."""
        self._stopping = True
        self._link.close()

    @property
    def trouble(self) -> str | None:
        """Why there is no keeper; None while there is one, and before an attempt has failed."""
        return self._trouble

    async def connect(self) -> Holdings:
        """Find the keeper or start one; return what it holds."""
        try:
            hello = await self._link.connect(self._layout.keeper_socket, role="daemon")
        except (FileNotFoundError, ConnectionError):
            await self._start()
            hello = await self._link.connect(self._layout.keeper_socket, role="daemon")
        self.pid, self.build, self._trouble = hello.pid, hello.build, None
        self._ready.set()
        return hello

    async def _start(self) -> None:
        """Start a keeper and wait until it says that it listens."""
        loop = asyncio.get_running_loop()
        ready = await loop.run_in_executor(None, start_keeper, self._layout)
        if ready:
            return
        why = f"see {self._layout.log}"
        if held(self._layout.keeper_lock):
            why = f"another process holds {self._layout.keeper_lock}"
        raise DaemonError(f"the keeper did not start: {why}")

    def _lost(self) -> None:
        # One that is lost again while we connect to it: the attempt fails, and another follows.
        if self._stopping or not self._ready.is_set():
            return
        log.line(f"daemon: keeper {self.pid} is gone, starting another")
        self._ready.clear()
        self.pid, self._lost_at = None, _now()
        self._hold(self._replace())

    def _hold(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _replace(self) -> None:
        """Try until there is a keeper again: what prevents it, such as a full disk, may pass."""
        number, pause = 1, _FIRST_PAUSE
        while not await self._attempted(number):
            await asyncio.sleep(pause)
            number, pause = number + 1, min(2 * pause, _LONGEST_PAUSE)
        if self._stopping:
            return
        if self._listener is not None:
            await self.hold(self._listener)
        await self._on_new()

    async def _attempted(self, number: int) -> bool:
        """Try to have a keeper; False if that must be repeated."""
        async with self._attempt:
            if self._stopping:
                return True
            self._link.close()
            self._link = self._new_link()
            try:
                async with asyncio.timeout(_START_SECONDS):
                    await self.connect()
            except (AgentPtyError, KeeperError, OSError, TimeoutError) as error:
                why = "the keeper does not answer" if isinstance(error, TimeoutError) else error
                self._trouble = f"no keeper since {self._lost_at}, attempt {number} failed: {why}"
                log.line(f"daemon: {self._trouble}")
                return False
            return True

    async def ask(self, request: KeeperRequest[Answer], fds: Sequence[int] = ()) -> Answer:
        """Ask the keeper; if it is lost meanwhile, the caller may ask again."""
        try:
            async with asyncio.timeout(_DEGRADED_SECONDS if self._trouble else _START_SECONDS):
                await self._ready.wait()
                return await self._link.ask(request, fds)
        except ChannelClosed as error:
            raise Busy("the keeper was lost during the request; ask again") from error
        except TimeoutError as error:
            raise DaemonError(self._trouble or "the keeper does not answer") from error

    async def spawn(self, spawn: Spawn) -> Spawned:
        """Start a program, or say in the seed's words why not."""
        try:
            return await self.ask(spawn)
        except KeeperError as error:
            raise spawn_error(spawn.argv[0], spawn.cwd, error.why) from error

    async def stop(self) -> None:
        """End the keeper, and return when its process has gone: the next one needs its lock."""
        self._stopping = True
        async with self._attempt:  # one that is just being started must end too
            if not self._ready.is_set():
                return
        gone = asyncio.Event()
        watch = ExitWatch(self.pid or 0, None, gone.set)
        try:
            await self.ask(Stop())
            self._link.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GONE_SECONDS):
                    await gone.wait()
        finally:
            watch.close()


def _now() -> str:
    now = dt.datetime.now(dt.UTC)
    return now.isoformat(timespec="seconds").replace("+00:00", "Z")


def spawn_error(program: str, cwd: str, why: dict[str, Any]) -> SpawnFailed | Busy:
    """Say in the seed's words why a program could not be started."""
    number, reason = why.get("errno"), why.get("reason")
    name = _errno_name(number)
    if why.get("stage") == "cwd":
        return SpawnFailed(f"cannot start in {cwd}: {reason}", field="repo", errno=name)
    if why.get("stage") == "guard":
        return GuardUnavailable(
            f"no guard can stand here: {reason}; `agent-pty doctor` says more", errno=name
        )
    if why.get("stage") == "exec":
        return SpawnFailed(f"spawn shell {program}: {reason}", field="argv", errno=name)
    if name in _EXHAUSTED:
        return Busy(f"open pty: {reason}: end a session or raise the limit", errno=name)
    return SpawnFailed(f"open pty: {reason}", errno=name)


def _errno_name(number: int | None) -> str | None:
    return None if number is None else errno.errorcode.get(number)
