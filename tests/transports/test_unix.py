import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent_pty.ops.op import LARGEST_REQUEST
from agent_pty.transports import unix
from agent_pty.transports.caller import Caller, Hear, Streaming
from agent_pty.transports.unix import UnixServer

SECONDS = 30
STRANGER = """
import os, socket, sys
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as stranger:
    stranger.connect(sys.argv[1])
    try:
        stranger.sendall(b"hello\\n")
        print(stranger.recv(100))
    except OSError:
        print(b"")
"""


class Echo:
    """Answers a request with itself; one that says `slow` is answered when *may_answer* is set."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.callers: list[Caller] = []
        self.at_once = 0
        self.most_at_once = 0
        self.begun = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.padding = b""

    async def handle(self, payload: bytes, caller: Caller) -> bytes:
        """Answer."""
        self.asked.append(payload)
        self.callers.append(caller)
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            if payload.startswith(b"slow"):
                self.begun.set()
                await self.may_answer.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        finally:
            self.at_once -= 1
        return b"re:" + payload + self.padding


class Client:
    """A client that does only what it is told."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, line: bytes) -> bytes:
        """Send a line and return the next one, without its end."""
        self.writer.write(line + b"\n")
        return (await self.reader.readline()).rstrip(b"\n")

    async def close(self) -> None:
        """Hang up."""
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except ConnectionError:
            return


class Service:
    """A server on a real socket, and its clients."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.echo = Echo()
        self.server = UnixServer(self.echo.handle)
        self._clients: list[Client] = []
        self._open = True

    async def start(self) -> None:
        """Listen."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen()
        await self.server.start(listener)

    async def connect(self) -> Client:
        """Return a new client."""
        client = Client(*await asyncio.open_unix_connection(self.path, limit=1 << 26))
        self._clients.append(client)
        return client

    def hang_up(self) -> None:
        """Close the server, once."""
        if self._open:
            self._open = False
            self.server.close()

    async def close(self) -> None:
        """Hang up on both sides."""
        self.hang_up()
        for client in self._clients:
            await client.close()


@asynccontextmanager
async def service() -> AsyncIterator[Service]:
    """Serve for a while."""
    # Not tmp_path: a socket's path may have 107 bytes.
    directory = tempfile.mkdtemp(prefix="ap-")
    running = Service(f"{directory}/s.sock")
    await running.start()
    try:
        yield running
    finally:
        await running.close()
        shutil.rmtree(directory)


Story = Callable[[Service], Coroutine[Any, Any, None]]


def tell(story: Story) -> None:
    """Let a story happen, within bounds."""

    async def bounded() -> None:
        async with asyncio.timeout(SECONDS), service() as running:
            await story(running)

    asyncio.run(bounded())


def test_many_requests_are_answered_in_order() -> None:
    """
    A connection carries as many requests as one likes, one after the other.
    """

    async def story(running: Service) -> None:
        client = await running.connect()
        lines = [b"request %d" % number for number in range(500)]

        client.writer.write(b"\n".join(lines) + b"\n")
        answers = [(await client.reader.readline()) for _ in lines]

        assert answers == [b"re:" + line + b"\n" for line in lines]
        assert running.echo.most_at_once == 1

    tell(story)


def test_a_request_may_come_byte_by_byte() -> None:
    """
    How the bytes are cut into packets means nothing.
    """

    async def story(running: Service) -> None:
        client = await running.connect()
        other = await running.connect()

        for byte in b"one\ntwo\n":
            client.writer.write(bytes([byte]))
            # Its answer proves that the server had a turn.
            await other.ask(b"turn")

        assert await client.reader.readline() == b"re:one\n"
        assert await client.reader.readline() == b"re:two\n"

    tell(story)


def test_empty_lines_are_ignored() -> None:
    """
    A line without content asks nothing and gets no answer.
    """

    async def story(running: Service) -> None:
        client = await running.connect()
        client.writer.write(b"\n  \n\r\n\n")

        assert await client.ask(b"something") == b"re:something"
        assert running.echo.asked == [b"something"]

    tell(story)


def test_half_a_line_holds_up_nobody() -> None:
    """
    Who stops in the middle of a request does not keep others from being served.
    """

    async def story(running: Service) -> None:
        stuck, other = await running.connect(), await running.connect()
        stuck.writer.write(b'{"op":"lis')

        assert await other.ask(b"first") == b"re:first"
        stuck.writer.write(b't"}\n')
        assert await stuck.reader.readline() == b're:{"op":"list"}\n'

    tell(story)


def test_a_slow_request_holds_up_nobody() -> None:
    """
    While one client waits for its answer another gets its own.
    """

    async def story(running: Service) -> None:
        slow, other = await running.connect(), await running.connect()
        slow.writer.write(b"slow\n")
        await running.echo.begun.wait()

        assert await other.ask(b"quick") == b"re:quick"
        running.echo.may_answer.set()
        assert await slow.reader.readline() == b"re:slow\n"

    tell(story)


@pytest.mark.parametrize("last", [b"slow\n", b"slow"])
def test_a_half_closed_client_gets_its_answers(last: bytes) -> None:
    """
    Who has said everything may close its writing side; every answer comes, then the end.
    """

    async def story(running: Service) -> None:
        client = await running.connect()
        client.writer.write(b"first\n" + last)
        client.writer.write_eof()
        await running.echo.begun.wait()
        running.echo.may_answer.set()

        assert await client.reader.read() == b"re:first\nre:slow\n"

    tell(story)


@pytest.mark.parametrize("half_closed", [True, False])
def test_who_hangs_up_is_worked_for_no_more(*, half_closed: bool) -> None:
    """
    A client that is gone for good has its request cancelled, though it said nothing.
    """

    async def story(running: Service) -> None:
        client = await running.connect()
        client.writer.write(b"slow\n")
        if half_closed:
            client.writer.write_eof()
        await running.echo.begun.wait()
        assert not running.echo.cancelled.is_set()

        await client.close()

        await running.echo.cancelled.wait()
        assert running.server.clients == set()

    tell(story)


def test_the_largest_request_is_served() -> None:
    """
    Exactly the documented limit passes.
    """

    async def story(running: Service) -> None:
        client = await running.connect()
        line = b"x" * LARGEST_REQUEST

        assert len(await client.ask(line)) == LARGEST_REQUEST + 3

    tell(story)


@pytest.mark.parametrize("end", [b"", b"\n", b"\nsecond\n"])
def test_a_request_above_the_limit_is_refused(end: bytes) -> None:
    """
    One byte more, finished or not, is told why and hung up on; nothing of it is handled.
    """

    async def story(running: Service) -> None:
        client = await running.connect()
        client.writer.write(b"x" * (LARGEST_REQUEST + 1) + end)

        answer = json.loads(await client.reader.readline())

        assert (answer["ok"], answer["code"]) == (False, "too_large")
        assert answer["error"] == "a request may have at most 8 MiB"
        assert answer["details"] == {"limit": LARGEST_REQUEST}
        assert await client.reader.read() == b""
        assert running.echo.asked == []

    tell(story)


async def send_for_ever(path: str, taken: list[int]) -> None:
    """Send a line that does not end, and note what the server takes of it."""
    with socket.socket(socket.AF_UNIX) as endless:
        endless.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(endless, path)
        while sum(taken) < 10 * LARGEST_REQUEST:
            await loop.sock_sendall(endless, b"x" * 65_536)
            taken.append(65_536)


def test_an_endless_line_is_not_read_to_its_end() -> None:
    """
    The server takes little more than the limit, then hangs up; it keeps nothing of it.
    """
    taken: list[int] = []

    async def story(running: Service) -> None:
        with pytest.raises(ConnectionError):
            await send_for_ever(running.path, taken)

        assert sum(taken) < LARGEST_REQUEST + 2_000_000
        assert all(client._buffer == b"" for client in running.server.clients)

    tell(story)


async def never_reading(running: Service) -> tuple[Client, int]:
    """Connect a client that asks and asks and does not read, until the server stops for it."""
    running.echo.padding = b"." * 10_000
    deaf = await running.connect()
    deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a read transport too
    deaf.writer.write(b"".join(b"question %d\n" % number for number in range(20_000)))
    other = await running.connect()
    handled = [0]
    # Each round trip of the other is a turn for everybody: nothing happens in fifty of them.
    while not (handled[-1] and handled[-50:] == handled[-1:] * 50):
        await other.ask(b"turn")
        handled.append(sum(line.startswith(b"question") for line in running.echo.asked))
    return deaf, handled[-1]


def test_who_does_not_read_is_not_worked_for() -> None:
    """
    Unread answers are bounded: the server stops for this client, and only for this one.
    """

    async def story(running: Service) -> None:
        deaf, handled = await never_reading(running)

        assert 0 < handled < 1000
        deaf.writer.transport.resume_reading()  # type: ignore[attr-defined]  # as above
        for number in range(20_000):
            assert (await deaf.reader.readline()).startswith(b"re:question %d." % number)

    tell(story)


def test_who_never_reads_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    After a minute, here less, nobody is thought to be reading any more.
    """
    monkeypatch.setattr(unix, "_READ_SECONDS", 0.05)

    async def story(running: Service) -> None:
        deaf, _ = await never_reading(running)
        other = await running.connect()
        await other.ask(b"I am here")
        # Each round trip is a turn, in which the time may have come.
        while len(running.server.clients) > len({deaf, other}):
            await other.ask(b"turn")

        assert await other.ask(b"still here") == b"re:still here" + running.echo.padding

    tell(story)


def test_a_line_that_was_begun_has_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Half a line is waited for half a minute, here less; a connection without one may stay.
    """
    monkeypatch.setattr(unix, "_LINE_SECONDS", 0.05)

    async def story(running: Service) -> None:
        silent, slow = await running.connect(), await running.connect()
        await silent.ask(b"hello")
        slow.writer.write(b"half a li")

        assert await slow.reader.read() == b""
        assert await silent.ask(b"still here") == b"re:still here"

    tell(story)


def test_dripping_does_not_buy_time() -> None:
    """
    The time of a line begins with its first byte, not with its latest.
    """

    async def story(running: Service) -> None:
        client, other = await running.connect(), await running.connect()
        client.writer.write(b"a")
        await other.ask(b"turn")
        (served,) = [one for one in running.server.clients if one._buffer]
        assert served._line_timer is not None
        due = served._line_timer.when()

        client.writer.write(b"b")
        await other.ask(b"turn")

        assert served._buffer == b"ab"
        assert served._line_timer is not None
        assert served._line_timer.when() == due
        client.writer.write(b"c\nd")
        assert await client.reader.readline() == b"re:abc\n"
        assert served._line_timer.when() > due

    tell(story)


def test_one_client_too_many_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Beyond the limit a client gets one answer and the end; those there are served on.
    """
    monkeypatch.setattr(unix, "_MOST_CLIENTS", 2)

    async def story(running: Service) -> None:
        first, second = await running.connect(), await running.connect()
        await first.ask(b"a")
        await second.ask(b"b")

        third = await running.connect()

        assert json.loads(await third.reader.readline())["code"] == "busy"
        assert await third.reader.read() == b""
        assert await first.ask(b"c") == b"re:c"
        await second.close()
        fourth = await running.connect()
        assert await fourth.ask(b"d") == b"re:d"

    tell(story)


def test_a_request_comes_with_who_asks() -> None:
    """
    The kernel says which user and which process is at the other end.
    """

    async def story(running: Service) -> None:
        client = await running.connect()
        await client.ask(b"who am I")

        assert running.echo.callers == [
            Caller(transport="unix", uid=os.getuid(), pid=os.getpid()),
        ]

    tell(story)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_another_user_is_not_let_in() -> None:
    """
    Even if the modes would let him: the server asks the kernel who it is and hangs up.
    """

    async def story(running: Service) -> None:
        os.chmod(os.path.dirname(running.path), 0o755)  # noqa: S103  that is the point
        os.chmod(running.path, 0o777)  # noqa: S103  same

        stranger = await asyncio.create_subprocess_exec(
            sys.executable, "-c", STRANGER, running.path, stdout=subprocess.PIPE
        )
        said, _ = await stranger.communicate()

        assert said == b"b''\n"
        assert running.echo.asked == []

    tell(story)


def test_a_server_that_stops_accepting_serves_on() -> None:
    """
    No new client is let in; who is there gets its answers.
    """

    async def story(running: Service) -> None:
        client = await running.connect()
        await client.ask(b"before")

        running.server.stop_accepting()

        with pytest.raises(ConnectionError):
            await running.connect()
        assert await client.ask(b"after") == b"re:after"

    tell(story)


def test_trial_28_the_file_of_the_socket_belongs_to_its_owner() -> None:
    """
    A server that ends leaves the file alone, on every Python: it did not make it.
    """

    async def story(running: Service) -> None:
        before = set(os.listdir(os.path.dirname(running.path)))
        running.server.stop_accepting()

        assert set(os.listdir(os.path.dirname(running.path))) == before

    tell(story)


def test_closing_hangs_up_on_everybody() -> None:
    """
    Clients see the end, and what was being done for them is cancelled.
    """

    async def story(running: Service) -> None:
        client = await running.connect()
        client.writer.write(b"slow\n")
        await running.echo.begun.wait()

        running.hang_up()

        assert await client.reader.read() == b""
        await running.echo.cancelled.wait()

    tell(story)


# -- streams


@asynccontextmanager
async def streamed(
    pour: Callable[[Hear], Coroutine[Any, Any, None]], *, patient: bool
) -> AsyncIterator[Client]:
    """Connect to a server whose only answer is this stream, and ask for it."""

    async def handle(_payload: bytes, _caller: Caller) -> Streaming:
        return Streaming(head=b"head", pour=pour, patient=patient)

    async with service() as running:
        running.server.handle = handle
        client = await running.connect()
        client.writer.write(b"speak\n")
        yield client


@pytest.mark.parametrize("patient", [True, False], ids=["patient", "at once"])
def test_a_stream_arrives_whole_and_in_order(*, patient: bool) -> None:
    """
    Small pieces and large ones, said in one breath or in several: nothing overtakes anything.
    """
    pieces = [b"a", b"b" * 10, b"c" * 200_000, b"d", b"e" * 70_000, b"f" * 65_000, b"g"]

    async def pour(hear: Hear) -> None:
        for piece in pieces:
            await hear(piece)
            if piece == b"d":
                await asyncio.wait({asyncio.get_running_loop().create_future()}, timeout=0)

    async def story() -> bytes:
        async with streamed(pour, patient=patient) as client:
            return await client.reader.read()

    assert asyncio.run(story()) == b"head\n" + b"".join(pieces)


def test_what_was_said_does_not_wait_for_more() -> None:
    """
    A piece is sent though its speaker has not ended: who monitors is told now.
    """

    async def story() -> bytes:
        heard = asyncio.Event()

        async def pour(hear: Hear) -> None:
            await hear(b"news\n")
            await heard.wait()

        async with streamed(pour, patient=True) as client:
            head, news = await client.reader.readline(), await client.reader.readline()
            heard.set()
            return head + news + await client.reader.read()

    assert asyncio.run(story()) == b"head\nnews\n"


def test_who_is_not_read_stops_speaking() -> None:
    """
    A stream that nobody reads is held up; when its client leaves, it is ended.
    """
    said, most = 0, 1000

    async def story() -> None:
        held, ended = asyncio.Event(), asyncio.Event()

        async def give(hear: Hear) -> None:
            await hear(b"x" * 50_000)

        async def pour(hear: Hear) -> None:
            nonlocal said
            try:
                for said in range(most):  # noqa: B007  looked at in the end
                    hearing = asyncio.get_running_loop().create_task(give(hear))
                    await asyncio.wait({hearing}, timeout=0)
                    if not hearing.done():
                        held.set()
                    await hearing
            finally:
                held.set()
                ended.set()

        async with streamed(pour, patient=True) as client:
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await held.wait()
            client.writer.transport.abort()
            await ended.wait()

    asyncio.run(story())

    assert said < most - 1


def test_trial_01_who_was_accepted_before_the_end_is_left_to_the_next_daemon() -> None:
    """
    A client that is connected only after the server was abandoned gets no answer of this one.
    """

    async def story(running: Service) -> None:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(running.path)
        sock.sendall(b"hello\n")
        sock.setblocking(False)
        # It is accepted in this turn of the loop, and connected in the next one.
        running.server._acceptors[0]._ready()
        running.server.abandon()

        reader, writer = await asyncio.open_unix_connection(sock=sock)
        try:
            with pytest.raises(ConnectionResetError):
                await reader.read()
        finally:
            writer.close()
        assert running.echo.asked == []

    tell(story)
