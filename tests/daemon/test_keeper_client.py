"""The daemon's connection to the keeper, with a fake keeper at the other end of a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import pytest

from agent_pty.core.frame import Frame, FrameReader, Kind, encoded
from agent_pty.core.layout import Layout
from agent_pty.daemon import keeper_client
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.errors import Busy, DaemonError, SpawnFailed
from agent_pty.keeper.link import KeeperError
from agent_pty.keeper.listen import listen
from agent_pty.keeper.message import Done, Ended, Exit, KeeperEvent, Release, Spawn, Spawned
from support.fake_host import (
    NO_PROCESS,
    advance,
    begin,
    done_at_once,
    in_frozen_time,
    running_program,
    runs,
    still_waits,
    temporary_layout,
)

START_SECONDS = 20.0
GONE_SECONDS = 1.0
DEGRADED_SECONDS = 2.0
FIRST_PAUSE = 0.2
RELEASE = Release(instance="i-a")
SPAWN = Spawn(instance="i-a", argv=["tool", "-x"], cwd="/src", env={}, rows=24, cols=80)

Body = dict[str, Any]


class Connection(asyncio.Protocol):
    """The keeper's end of one connection: it keeps what it is asked."""

    def __init__(self, on_made: Callable[[Connection], None]) -> None:
        self._on_made = on_made
        self._reader = FrameReader()
        self._asked: asyncio.Queue[Body] = asyncio.Queue()
        self._transport: asyncio.Transport | None = None
        self._closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        self._transport = cast("asyncio.Transport", transport)
        self._on_made(self)

    def data_received(self, data: bytes) -> None:
        """Keep what arrives."""
        for frame in self._reader.feed(data):
            self._asked.put_nowait(json.loads(frame.body))

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the daemon closed the connection."""
        del exc
        self._closed.set()

    async def asked(self) -> Body:
        """Return the next request."""
        return await self._asked.get()

    def send(self, **body: Any) -> None:
        """Send a message."""
        assert self._transport is not None
        frame = Frame(kind=Kind.EVENT, body=json.dumps(body).encode())
        self._transport.write(encoded(frame))

    def answer(self, request: Body, **fields: Any) -> None:
        """Answer a request."""
        self.send(re=request["seq"], **fields)

    def close(self) -> None:
        """End as a keeper that dies."""
        assert self._transport is not None
        self._transport.abort()

    async def wait_closed(self) -> None:
        """Return when the connection is closed, by whichever end."""
        await self._closed.wait()


class FakeKeeper:
    """A keeper at its socket; the next one takes its place there when a connection ends."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._server: asyncio.Server | None = None
        self._connections: list[Connection] = []
        self._made: asyncio.Queue[Connection] = asyncio.Queue()

    async def listen(self) -> None:
        """Accept connections from now on."""
        listener = listen(self._layout.keeper_socket)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(
            lambda: Connection(self._accepted), sock=listener
        )

    def _accepted(self, connection: Connection) -> None:
        self._connections.append(connection)
        self._made.put_nowait(connection)

    async def connection(self) -> Connection:
        """Return the next connection."""
        return await self._made.get()

    async def greet(self, *, pid: int = NO_PROCESS, **holdings: Any) -> Connection:
        """Accept a connection and answer its hello."""
        connection = await self.connection()
        hello = await connection.asked()
        assert (hello["do"], hello["role"]) == ("hello", "daemon")
        connection.answer(hello, pid=pid, build="b1", **holdings)
        return connection

    def close(self) -> None:
        """End every connection."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.close()


class Scene:
    """A client, its keeper, and what the client reported."""

    def __init__(self, layout: Layout) -> None:
        self.keeper = FakeKeeper(layout)
        self.events: asyncio.Queue[KeeperEvent] = asyncio.Queue()
        self.renewals: asyncio.Queue[int | None] = asyncio.Queue()
        self.looks: asyncio.Queue[None] = asyncio.Queue()
        self.client = KeeperClient(
            layout,
            on_event=self.events.put_nowait,
            on_new=self._renewed,
            relisten=self._looked,
        )

    async def _looked(self) -> None:
        self.looks.put_nowait(None)

    async def _renewed(self) -> None:
        self.renewals.put_nowait(self.client.pid)

    async def connect(self, *, pid: int = NO_PROCESS) -> Connection:
        """Connect the client to a keeper that listens."""
        await self.keeper.listen()
        connecting = begin(self.client.connect())
        connection = await self.keeper.greet(pid=pid)
        await connecting
        return connection


@contextlib.asynccontextmanager
async def keeping(layout: Layout) -> AsyncIterator[Scene]:
    """Make a client; afterwards both ends are closed."""
    scene = Scene(layout)
    try:
        yield scene
    finally:
        scene.client.disconnect()
        scene.keeper.close()


@pytest.fixture
def layout() -> Iterator[Layout]:
    """A home of its own."""
    with temporary_layout() as found:
        yield found


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    """A process that may be killed."""
    with running_program() as found:
        yield found


@pytest.fixture(autouse=True)
def no_real_keeper(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test of this file starts a process for a keeper."""

    def start(_layout: Layout) -> bool:
        raise AssertionError("a keeper was started")

    monkeypatch.setattr(keeper_client, "start_keeper", start)


# -- connecting


@in_frozen_time
async def test_a_keeper_that_listens_is_used(layout: Layout) -> None:
    """
    The client introduces itself as a daemon and learns what the keeper is and holds.
    """
    async with keeping(layout) as scene:
        await scene.keeper.listen()
        held = {"i-a": {"pid": 7, "birth": 1.5, "host": "h1", "ended": None}}

        connecting = begin(scene.client.connect())
        await scene.keeper.greet(pid=99, hosts={"h1": 8}, sessions=held)
        holdings = await connecting

        assert (scene.client.pid, scene.client.build) == (99, "b1")
        assert holdings.hosts == {"h1": 8}
        assert (holdings.sessions["i-a"].pid, holdings.sessions["i-a"].host) == (7, "h1")


@pytest.mark.parametrize("left_behind", [True, False])
@in_frozen_time
async def test_a_missing_keeper_is_started(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, *, left_behind: bool
) -> None:
    """
    The client starts a keeper where nobody listens, even if the file of the socket is there.
    """
    async with keeping(layout) as scene:
        loop = asyncio.get_running_loop()

        def start(_layout: Layout) -> bool:
            asyncio.run_coroutine_threadsafe(scene.keeper.listen(), loop).result()
            return True

        monkeypatch.setattr(keeper_client, "start_keeper", start)
        if left_behind:
            listen(layout.keeper_socket).close()

        connecting = begin(scene.client.connect())
        await scene.keeper.greet(pid=99)

        assert (await connecting).pid == 99


@in_frozen_time
async def test_a_keeper_that_does_not_start_is_reported(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The error names the log.
    """
    monkeypatch.setattr(keeper_client, "start_keeper", lambda _layout: False)
    async with keeping(layout) as scene:
        with pytest.raises(DaemonError, match="the keeper did not start") as raised:
            await scene.client.connect()

        assert layout.log in str(raised.value)


# -- asking


@in_frozen_time
async def test_an_answer_has_the_type_that_the_request_declares(layout: Layout) -> None:
    """
    The keeper gets the fields of the request, and the caller gets a typed answer.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()

        spawning = begin(scene.client.spawn(SPAWN))
        request = await connection.asked()
        connection.answer(request, pid=7, birth=1.5)

        assert await spawning == Spawned(pid=7, birth=1.5)
        assert request["do"] == "spawn"
        assert (request["instance"], request["argv"]) == ("i-a", ["tool", "-x"])


@in_frozen_time
async def test_a_refusal_of_the_keeper_is_raised(layout: Layout) -> None:
    """
    The caller of any request but `spawn` gets the keeper's own error.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()

        asking = begin(scene.client.ask(RELEASE))
        connection.answer(await connection.asked(), error={"reason": "no such session"})

        with pytest.raises(KeeperError, match="no such session"):
            await asking


@in_frozen_time
async def test_events_of_the_keeper_are_passed_on(layout: Layout) -> None:
    """
    The owner gets each event, and an event of a later build is passed over.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()

        connection.send(event="of a later build")
        connection.send(event="ended", instance="i-a", ended={"code": 3, "signal": None})

        ended = Ended(instance="i-a", ended=Exit(code=3, signal=None))
        assert await scene.events.get() == ended


@in_frozen_time
async def test_a_keeper_that_does_not_answer_is_given_up(layout: Layout) -> None:
    """
    The caller gets an error after twenty seconds, and not earlier.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()

        asking = begin(scene.client.ask(RELEASE))
        await connection.asked()
        advance(START_SECONDS * 0.9)
        assert await still_waits(asking)
        advance(START_SECONDS * 0.1)

        with pytest.raises(DaemonError, match="the keeper does not answer"):
            await asking


# -- programs that cannot be started


async def refused(scene: Scene, **why: Any) -> SpawnFailed | Busy:
    """Ask for a program that the keeper cannot start, and return the error."""
    connection = await scene.connect()
    spawning = begin(scene.client.spawn(SPAWN))
    connection.answer(await connection.asked(), error=why)
    with pytest.raises((SpawnFailed, Busy)) as raised:
        await spawning
    assert isinstance(raised.value, SpawnFailed | Busy)
    return raised.value


REFUSALS: dict[str, tuple[Body, str, Body]] = {
    "directory": (
        {"stage": "cwd", "errno": errno.ENOENT, "reason": "No such file or directory"},
        "cannot start in /src: No such file or directory",
        {"field": "repo", "errno": "ENOENT"},
    ),
    "program": (
        {"stage": "exec", "errno": errno.EACCES, "reason": "Permission denied"},
        "spawn shell tool: Permission denied",
        {"field": "argv", "errno": "EACCES"},
    ),
    "no memory for this program": (
        {"stage": "exec", "errno": errno.ENOMEM, "reason": "Cannot allocate memory"},
        "spawn shell tool: Cannot allocate memory",
        {"field": "argv", "errno": "ENOMEM"},
    ),
    "terminal": (
        {"stage": "pty", "errno": errno.EACCES, "reason": "Permission denied"},
        "open pty: Permission denied",
        {"errno": "EACCES"},
    ),
    "unknown number": (
        {"stage": "pty", "errno": 99999, "reason": "odd"},
        "open pty: odd",
        {"errno": None},
    ),
    "no number": ({"reason": "odd"}, "open pty: odd", {"errno": None}),
}


@pytest.mark.parametrize("case", REFUSALS)
@in_frozen_time
async def test_a_program_that_cannot_be_started_is_reported_in_the_words_of_the_seed(
    layout: Layout, case: str
) -> None:
    """
    The error names what failed, the reason, the field of the request and the error number.
    """
    why, message, details = REFUSALS[case]
    async with keeping(layout) as scene:
        error = await refused(scene, **why)

        assert type(error) is SpawnFailed
        assert str(error) == message
        assert error.details == details


@pytest.mark.parametrize("name", ["ENOSPC", "EMFILE", "ENFILE", "EAGAIN", "ENOMEM"])
@in_frozen_time
async def test_an_exhausted_machine_is_busy(layout: Layout, name: str) -> None:
    """
    The error says that a limit is reached and what to do, when no terminal is left.
    """
    async with keeping(layout) as scene:
        number = getattr(errno, name)
        error = await refused(scene, stage="pty", errno=number, reason=os.strerror(number))

        assert type(error) is Busy
        reason = f"open pty: {os.strerror(number)}: end a session or raise the limit"
        assert str(error) == reason
        assert error.details == {"errno": name}


# -- the keeper dies


@pytest.mark.parametrize("spawns", [True, False])
@in_frozen_time
async def test_a_request_that_meets_the_death_of_the_keeper_may_be_asked_again(
    layout: Layout, *, spawns: bool
) -> None:
    """
    The caller gets `Busy`, and the next keeper answers the same request.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()
        ask = (lambda: scene.client.spawn(SPAWN)) if spawns else (lambda: scene.client.ask(RELEASE))

        asking = begin(ask())
        await connection.asked()
        connection.close()
        with pytest.raises(Busy, match="the keeper was lost during the request; ask again"):
            await asking
        successor = await scene.keeper.greet()
        again = begin(ask())
        successor.answer(await successor.asked(), pid=7, birth=1.5)

        assert await again == (Spawned(pid=7, birth=1.5) if spawns else Done())


@in_frozen_time
async def test_a_new_keeper_is_reported_once_it_is_connected(
    layout: Layout, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    The owner hears of a replacement when the client knows the new keeper.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect(pid=98)
        assert scene.renewals.empty()

        connection.close()
        await scene.keeper.greet(pid=99)

        assert await scene.renewals.get() == 99
        assert "keeper 98 is gone, starting another" in capfd.readouterr().err


@in_frozen_time
async def test_a_request_waits_until_the_next_keeper_is_there(layout: Layout) -> None:
    """
    A request that begins while there is no keeper goes to the next one, after the hello.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()
        connection.close()
        successor = await scene.keeper.connection()

        asking = begin(scene.client.ask(RELEASE))
        hello, following = await successor.asked(), begin(successor.asked())
        assert await still_waits(following)  # the keeper must answer the hello first
        successor.answer(hello, pid=NO_PROCESS)
        request = await following
        successor.answer(request)

        assert (hello["do"], request["do"]) == ("hello", "release")
        assert await asking == Done()


@in_frozen_time
async def test_a_request_does_not_wait_for_ever_for_a_keeper(layout: Layout) -> None:
    """
    The caller gets an error when there is no keeper for twenty seconds.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()
        connection.close()
        await scene.keeper.connection()

        asking = begin(scene.client.ask(RELEASE))
        assert await still_waits(asking)
        advance(START_SECONDS)

        with pytest.raises(DaemonError, match="the keeper does not answer"):
            await asking


class Starts:
    """Attempts to start a keeper: they fail until `succeed` is called, then one listens."""

    def __init__(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        self._scene = scene
        self._works = False
        self._made: asyncio.Queue[None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        monkeypatch.setattr(keeper_client, "start_keeper", self._start)

    def succeed(self) -> None:
        """Let the next attempt succeed."""
        self._works = True

    async def another(self) -> None:
        """Return when an attempt is made."""
        await self._made.get()

    def _start(self, _layout: Layout) -> bool:
        """Run in a thread, as the real one does."""
        self._loop.call_soon_threadsafe(self._made.put_nowait, None)
        if self._works:
            listening = asyncio.run_coroutine_threadsafe(self._scene.keeper.listen(), self._loop)
            listening.result()
        return self._works


async def lose(scene: Scene, connection: Connection) -> None:
    """Let the keeper die, and nobody listen in its place."""
    scene.keeper.close()
    await connection.wait_closed()


async def failed(scene: Scene, attempt: int) -> str:
    """Return the trouble when this attempt, which is made in a thread, has failed."""
    while f"attempt {attempt} failed" not in (scene.client.trouble or ""):
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0)
    return str(scene.client.trouble)


@in_frozen_time
async def test_trial_04_a_keeper_that_does_not_start_is_tried_again(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A replacement that fails is repeated after a pause, and the pauses grow up to five seconds.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()
        starts = Starts(scene, monkeypatch)
        await lose(scene, connection)

        pauses = (0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0)
        await starts.another()
        for number, pause in enumerate(pauses, start=1):
            await failed(scene, number)
            another = begin(starts.another())
            advance(pause * 0.9)
            assert await still_waits(another)
            advance(pause * 0.2)
            await another
        await failed(scene, len(pauses) + 1)
        starts.succeed()
        advance(5.0)
        await scene.keeper.greet(pid=99)

        assert await scene.renewals.get() == 99
        assert (scene.client.pid, scene.client.trouble) == (99, None)


@in_frozen_time
async def test_trial_04_a_request_says_why_there_is_no_keeper(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    After a failed attempt a request waits for two seconds only, and its error gives the reason.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()
        Starts(scene, monkeypatch)
        await lose(scene, connection)
        await failed(scene, 1)

        asking = begin(scene.client.ask(RELEASE))
        assert await still_waits(asking)
        advance(DEGRADED_SECONDS)

        with pytest.raises(
            DaemonError, match=r"no keeper since \S+Z, attempt \d+ failed"
        ) as raised:
            await asking
        assert f"the keeper did not start: see {layout.log}" in str(raised.value)


@in_frozen_time
async def test_trial_04_a_keeper_that_dies_during_the_hello_is_tried_again(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A replacement that is lost before it has answered counts as a failed attempt.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()
        Starts(scene, monkeypatch)
        connection.close()
        (await scene.keeper.connection()).close()

        await failed(scene, 1)
        advance(FIRST_PAUSE)
        await scene.keeper.greet(pid=99)

        assert await scene.renewals.get() == 99


@in_frozen_time
async def test_trial_04_a_client_without_a_keeper_can_be_stopped(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    `stop` does not wait for a keeper that is not there, and starts none.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()
        starts = Starts(scene, monkeypatch)
        await lose(scene, connection)
        await failed(scene, 1)

        await done_at_once(scene.client.stop())
        starts.succeed()
        advance(FIRST_PAUSE)

        assert await still_waits(begin(scene.keeper.connection()))


# -- the end


@in_frozen_time
async def test_leaving_the_keeper_starts_no_other(layout: Layout) -> None:
    """
    The client says whether another daemon follows, and connects to no keeper again.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect()

        leaving = begin(scene.client.leave(successor=True))
        said = await connection.asked()
        connection.answer(said)
        await leaving
        await connection.wait_closed()

        assert (said["do"], said["successor"]) == ("leaving", True)

        assert await still_waits(begin(connection.asked()))
        assert await still_waits(begin(scene.keeper.connection()))


@in_frozen_time
async def test_stop_waits_for_the_end_of_the_process(
    layout: Layout, program: subprocess.Popen[bytes]
) -> None:
    """
    The client returns when the keeper's process has gone, because the next keeper needs its lock.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect(pid=program.pid)

        stopping = begin(scene.client.stop())
        request = await connection.asked()
        connection.answer(request)
        await connection.wait_closed()
        assert await still_waits(stopping)
        program.send_signal(signal.SIGKILL)
        await stopping

        assert request["do"] == "stop"


@in_frozen_time
async def test_stop_does_not_wait_for_ever(
    layout: Layout, program: subprocess.Popen[bytes]
) -> None:
    """
    The client returns after a second although the keeper's process is still there.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect(pid=program.pid)

        stopping = begin(scene.client.stop())
        connection.answer(await connection.asked())
        await connection.wait_closed()
        assert await still_waits(stopping)
        advance(GONE_SECONDS)
        await stopping

        assert runs(program)


@in_frozen_time
async def test_a_stopped_keeper_is_not_replaced(
    layout: Layout, program: subprocess.Popen[bytes]
) -> None:
    """
    The client connects to no other keeper when the one that it stops closes the connection.
    """
    async with keeping(layout) as scene:
        connection = await scene.connect(pid=program.pid)

        stopping = begin(scene.client.stop())
        await connection.asked()
        connection.close()
        with pytest.raises(Busy):
            await stopping

        assert await still_waits(begin(scene.keeper.connection()))
        assert scene.renewals.empty()
