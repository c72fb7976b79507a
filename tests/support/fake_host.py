"""Fakes for tests of the daemon: hosts that answer what a test says, and time that it moves.

Time stands still in these tests until a test advances it: none depends on the machine's speed.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import subprocess
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, ParamSpec, TypeVar, cast

import msgspec

from agent_pty.core.frame import Frame, FrameReader, Kind, encoded
from agent_pty.core.layout import Layout
from agent_pty.daemon.record import Record
from agent_pty.errors import AgentPtyError
from agent_pty.host.message import Message, UsePolicy, decoded
from agent_pty.ops.model import Described, HostReport, Spec, State
from agent_pty.ops.op import failure

P = ParamSpec("P")
T = TypeVar("T")

# A pid that no kernel gives: a signal sent to it by mistake hits no process.
NO_PROCESS = 1 << 30
_SECONDS = 30.0
_TURNS = 20


class FrozenLoop(asyncio.SelectorEventLoop):
    """An event loop with real sockets, whose time stands still until it is advanced."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__()

    def time(self) -> float:
        """Return the time that the test has set."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Make timers due that are at most *seconds* away."""
        self._now += seconds


def in_frozen_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run an async test in a loop whose time only `advance` moves."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=FrozenLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def advance(seconds: float) -> None:
    """Let *seconds* pass; timers that are due run at the next `await`."""
    cast("FrozenLoop", asyncio.get_running_loop()).advance(seconds)


def begin(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start *work* without waiting for it; the caller holds the task."""
    return asyncio.get_running_loop().create_task(work)


async def done_at_once(work: Coroutine[Any, Any, T]) -> T:
    """Return what *work* returns; it may not wait for time to pass."""
    task = begin(work)
    assert not await still_waits(task)
    return task.result()


async def still_waits(task: asyncio.Task[Any]) -> bool:
    """Whether *task* is not done when everything that can happen without time has happened."""
    # Both ends of every socket are in this loop: what was sent arrives within a few turns.
    for _ in range(_TURNS):
        await asyncio.wait([task], timeout=0)
    return not task.done()


@contextlib.contextmanager
def temporary_layout() -> Iterator[Layout]:
    """Give a home of its own to a test."""
    # Not tmp_path: a socket's path may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="ap-") as home:
        layout = Layout(home=home, socket=f"{home}/s.sock", log_dir=f"{home}/runs")
        os.makedirs(layout.sessions)
        yield layout


@contextlib.contextmanager
def running_program() -> Iterator[subprocess.Popen[bytes]]:
    """Start a program that does not end by itself; afterwards it is gone."""
    pipe = subprocess.PIPE
    with subprocess.Popen(["cat"], stdin=pipe, stdout=pipe, start_new_session=True) as program:
        try:
            yield program
        finally:
            program.kill()


def runs(program: subprocess.Popen[bytes]) -> bool:
    """Whether a program answers: a signal that was just sent may not have ended it yet."""
    assert program.stdin is not None
    assert program.stdout is not None
    try:
        os.write(program.stdin.fileno(), b"?\n")
    except BrokenPipeError:
        return False
    return program.stdout.readline() == b"?\n"


def signal_that_ended(program: subprocess.Popen[bytes]) -> int:
    """Return the signal by which a program was ended; raise if it runs on."""
    return -program.wait(timeout=_SECONDS)


# -- values


def make_spec(name: str, **changes: Any) -> Spec:
    """Return the specification of a session whose instance is `i-` and its name."""
    fields: dict[str, Any] = {
        "instance": f"i-{name}",
        "name": name,
        "argv": ["/bin/cat"],
        "workspace": "/",
        "env_names": [],
        "rows": 24,
        "cols": 80,
        "started_at": "2026-01-01T00:00:00.000000Z",
    }
    return Spec(**{**fields, **changes})


def make_described(spec: Spec, **changes: Any) -> Described:
    """Return what a host says of a session that runs."""
    fields: dict[str, Any] = {
        "spec": spec,
        "pid": NO_PROCESS,
        "birth": 1.0,
        "state": State.RUNNING,
        "ending": None,
        "cursor": 0,
        "quiet_ms": 0,
    }
    return Described(**{**fields, **changes})


# -- a host on a real socket


def response(request: Frame, body: bytes) -> Frame:
    """Return the frame that answers *request*."""
    return Frame(kind=Kind.RESPONSE, number=request.number, body=body)


def _is_policy(frame: Frame) -> bool:
    """Whether a request says which rules count: every host is told first, and obeys."""
    try:
        return isinstance(decoded(frame.body)[0], UsePolicy)
    except msgspec.DecodeError:
        return False


class FakeHost(asyncio.Protocol):
    """The host's end of a socket: it keeps every frame and answers only what a test says."""

    def __init__(self) -> None:
        self._reader = FrameReader()
        self._frames: asyncio.Queue[Frame] = asyncio.Queue()
        self._transport: asyncio.Transport | None = None
        self._connected = asyncio.Event()
        self._closed = asyncio.Event()
        self._lively = False
        self._dies_when_asked = False

    def be_lively(self, *, lively: bool = True) -> None:
        """Answer a question for a sign of life by itself from now on, or no longer."""
        self._lively = lively

    def die_when_asked(self) -> None:
        """Close the connection, as the end of the process would, when anything arrives."""
        self._dies_when_asked = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        self._transport = cast("asyncio.Transport", transport)
        self._connected.set()

    def data_received(self, data: bytes) -> None:
        """Keep what arrives."""
        if self._dies_when_asked:
            self.close()
            return
        for frame in self._reader.feed(data):
            if self._lively and frame.kind is Kind.PING:
                self.send(Frame(kind=Kind.PONG, number=frame.number))
            elif frame.kind is Kind.REQUEST and _is_policy(frame):
                self.answer(frame)
            else:
                self._frames.put_nowait(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the daemon closed the connection."""
        del exc
        self._closed.set()

    async def received(self) -> Frame:
        """Return the next frame that the daemon sent."""
        return await self._frames.get()

    async def asked(self) -> tuple[Frame, Message]:
        """Return the next frame, which must be a request, and the message in it."""
        frame = await self.received()
        assert frame.kind is Kind.REQUEST
        return frame, decoded(frame.body)[0]

    def send(self, *frames: Frame) -> None:
        """Send frames in one piece."""
        self.send_bytes(b"".join(encoded(frame) for frame in frames))

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self._transport is not None
        self._transport.write(data)

    def answer(self, request: Frame, data: object = None) -> None:
        """Answer as a host that has done what it was asked."""
        self.send(response(request, msgspec.json.encode({"ok": True, "data": data})))

    def refuse(self, request: Frame, error: AgentPtyError) -> None:
        """Answer as a host that failed."""
        self.send(response(request, failure(error)))

    async def die(self) -> None:
        """Close the connection as the end of the process would."""
        await self._connected.wait()
        self.close()

    def close(self) -> None:
        """Close the connection if there is one."""
        if self._transport is not None:
            self._transport.abort()

    async def wait_closed(self) -> None:
        """Return when the connection is closed, by whichever end."""
        await self._closed.wait()


# -- hosts without a socket, for what only asks them


class FakeLink:
    """A host as the daemon sees it: *answers* by type of message; an error is raised."""

    def __init__(self, name: str, *, pid: int = NO_PROCESS, responsive: bool = True) -> None:
        self.name = name
        self.pid = pid
        self.responsive = responsive
        self.pings = 0
        self.introduced: HostReport | None = None
        self.asked: list[Any] = []
        self.answers: dict[type, Any] = {}

    def ping(self) -> None:
        """Count the questions for a sign of life."""
        self.pings += 1

    def introduce(self, report: HostReport) -> None:
        """Note what the host says of itself."""
        self.introduced = report

    async def control(self, asked: Any) -> Any:
        """Answer what the test has said: a value, an error, a future or a function."""
        self.asked.append(asked)
        answer = self.answers.get(type(asked))
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, asyncio.Future):
            return await answer
        return answer(asked) if callable(answer) else answer


class FakePool:
    """Hosts by name; the first one is shared, `private` gives the one called *alone*."""

    def __init__(self, *links: FakeLink) -> None:
        self.links = list(links)
        self.dismissed: list[str] = []
        self.retired = False

    def get(self, name: str | None) -> FakeLink | None:
        """Return the host of this name, None if it is gone."""
        return next((link for link in self.links if link.name == name), None)

    async def choose(self, load: Callable[[str], int]) -> FakeLink:
        """Return the shared host."""
        del load
        return self.links[0]

    async def private(self) -> FakeLink:
        """Return a new host for one session."""
        link = FakeLink("alone")
        link.answers = self.links[0].answers
        self.links.append(link)
        return link

    async def dismiss(self, name: str) -> None:
        """Note which host is not needed any more."""
        self.dismissed.append(name)


class FakePast:
    """Notes the names of sessions that are about to be forgotten, and of those that are."""

    def __init__(self) -> None:
        self.ending_names: list[str] = []
        self.ended_names: list[str] = []

    def ending(self, record: Record) -> None:
        """Note it."""
        self.ending_names.append(record.name)

    def ended(self, record: Record) -> None:
        """Note it."""
        self.ended_names.append(record.name)
