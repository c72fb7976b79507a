"""The daemon's side of a host's socket, with a fake host at the other end of a real one."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from agent_pty.core.frame import HEADER, LARGEST, Frame, Kind, encoded
from agent_pty.daemon.host_link import HostLink
from agent_pty.errors import HostLost, HostUnresponsive, UnknownSession
from agent_pty.host.message import (
    Addressed,
    AddressedStream,
    Caller,
    CountMembers,
    Describe,
    Forget,
    decoded,
)
from agent_pty.ops.model import HostReport
from support.fake_host import (
    FakeHost,
    advance,
    begin,
    in_frozen_time,
    make_described,
    make_spec,
    response,
    still_waits,
)

PID = 17
BEAT = 1.0
CALLER = Caller(transport="unix", uid=1000, pid=42)
STREAM = AddressedStream(instance="i-a", name="a", caller=CALLER)
OPENED = b'{"ok":true,"data":null}'


class Scene:
    """A link, the host it leads to, and what the link reported."""

    def __init__(self) -> None:
        self.lost: list[HostLink] = []
        self.events: asyncio.Queue[bytes] = asyncio.Queue()
        self.link = HostLink("h1", PID, self.lost.append, self.events.put_nowait, build="b1")
        self.host = FakeHost()

    async def open_stream(self, *frames: tuple[Kind, bytes]) -> tuple[AsyncIterator[bytes], int]:
        """Open a stream; *frames* come with the head in one piece."""
        opening = begin(self.link.stream(STREAM, b"{}"))
        request = await self.host.received()
        number = request.number
        rest = [Frame(kind=kind, number=number, body=body) for kind, body in frames]
        self.host.send(response(request, OPENED), *rest)
        return (await opening).chunks(), number


@contextlib.asynccontextmanager
async def connected() -> AsyncIterator[Scene]:
    """Connect a link and a host; afterwards both ends are closed."""
    scene = Scene()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    loop = asyncio.get_running_loop()
    await loop.create_unix_connection(lambda: scene.host, sock=theirs)
    await loop.create_unix_connection(lambda: scene.link, sock=ours)
    try:
        yield scene
    finally:
        scene.link.close()
        scene.host.close()


# -- requests


@in_frozen_time
async def test_answers_are_paired_by_number() -> None:
    """
    Each request gets its own answer, in whatever order the host answers.
    """
    async with connected() as scene:
        first, second = begin(scene.link.request(Describe())), begin(scene.link.request(Describe()))
        one, other = await scene.host.received(), await scene.host.received()

        scene.host.send(response(other, b"second"), response(one, b"first"))

        assert one.number != other.number
        assert (await first, await second) == (b"first", b"second")


@in_frozen_time
async def test_a_request_reaches_the_host_as_the_same_bytes() -> None:
    """
    The client's bytes follow the address of the session without a change.
    """
    async with connected() as scene:
        asked = Addressed(instance="i-a", name="a", caller=CALLER)
        payload = b'{"op": "send",\n "id":"a"}'

        asking = begin(scene.link.request(asked, payload))
        frame = await scene.host.received()

        assert frame.kind is Kind.REQUEST
        assert decoded(frame.body) == (asked, payload)
        asking.cancel()


@in_frozen_time
async def test_an_answer_may_arrive_in_pieces() -> None:
    """
    The link joins the pieces of a frame, wherever the frame was split.
    """
    async with connected() as scene:
        asking = begin(scene.link.request(Describe()))
        request = await scene.host.received()

        for byte in encoded(response(request, b"whole")):
            scene.link.data_received(bytes([byte]))

        assert await asking == b"whole"


@in_frozen_time
async def test_a_cancelled_request_is_cancelled_at_the_host() -> None:
    """
    The host receives a CANCEL with the number of the request that its caller gave up.
    """
    async with connected() as scene:
        asking = begin(scene.link.request(Describe()))
        request = await scene.host.received()

        asking.cancel()
        cancelled = await scene.host.received()

        assert cancelled == Frame(kind=Kind.CANCEL, number=request.number)
        assert asking.cancelled()


@in_frozen_time
async def test_a_late_answer_to_a_cancelled_request_is_ignored() -> None:
    """
    The link passes over an answer that nobody waits for, and works as before.
    """
    async with connected() as scene:
        cancelled = begin(scene.link.request(Describe()))
        old = await scene.host.received()
        cancelled.cancel()
        await scene.host.received()
        asking = begin(scene.link.request(Describe()))
        request = await scene.host.received()

        scene.host.send(response(old, b"late"), response(request, b"in time"))

        assert await asking == b"in time"


@in_frozen_time
async def test_an_event_goes_to_the_owner() -> None:
    """
    The link passes on an event of the host as the same bytes.
    """
    async with connected() as scene:
        scene.host.send(Frame(kind=Kind.EVENT, body=b'{"event":"bell"}'))

        assert await scene.events.get() == b'{"event":"bell"}'


# -- control


@in_frozen_time
async def test_control_returns_what_the_message_declares() -> None:
    """
    The answer of the host is converted to the type that its message names.
    """
    async with connected() as scene:
        report = HostReport(pid=PID, sessions=[make_described(make_spec("a"))], build="b2")
        asking = begin(scene.link.control(Describe()))
        request, asked = await scene.host.asked()

        scene.host.answer(request, report)

        assert await asking == report
        assert asked == Describe()


@in_frozen_time
async def test_control_raises_what_the_host_answers() -> None:
    """
    A failure at the host is raised here as the same class, with its details.
    """
    async with connected() as scene:
        asking = begin(scene.link.control(CountMembers(instance="i-a")))
        request = await scene.host.received()

        scene.host.refuse(request, UnknownSession("a"))

        with pytest.raises(UnknownSession, match="unknown session a") as raised:
            await asking
        assert raised.value.details == {"id": "a"}


@in_frozen_time
async def test_a_host_introduces_itself() -> None:
    """
    The link takes over the pid and the build that the host reports.
    """
    link = HostLink("h1", None, lambda _: None)

    link.introduce(HostReport(pid=99, sessions=[], build="b2"))

    assert (link.pid, link.build) == (99, "b2")


# -- a host that is gone


@in_frozen_time
async def test_a_lost_host_fails_every_open_request() -> None:
    """
    Each caller gets `HostLost`, which says that delivery is unknown.
    """
    async with connected() as scene:
        asking = [begin(scene.link.request(Describe())) for _ in range(2)]
        for _ in asking:
            await scene.host.received()

        await scene.host.die()
        errors = await asyncio.gather(*asking, return_exceptions=True)

        for error in errors:
            assert type(error) is HostLost
            assert "host h1 (pid 17) was lost" in str(error)
            assert error.details == {"host_pid": PID, "delivery": "unknown"}
        assert not scene.link.connected


@in_frozen_time
async def test_the_owner_hears_of_the_loss_once_and_last() -> None:
    """
    The link reports the loss once, after every open request has failed.
    """
    async with connected() as scene:
        open_requests: list[bool] = []

        def on_lost(link: HostLink) -> None:
            open_requests.extend(answer.done() for answer in link._open.values())
            scene.lost.append(link)

        scene.link._on_lost = on_lost
        asking = begin(scene.link.request(Describe()))
        await scene.host.received()

        await scene.host.die()
        await scene.link.wait_closed()
        await asyncio.wait([asking])
        scene.link.close()

        assert open_requests == [True]
        assert scene.lost == [scene.link]
        assert isinstance(asking.exception(), HostLost)


@in_frozen_time
async def test_a_request_to_a_lost_host_fails_at_once() -> None:
    """
    A link without a connection raises `HostLost` and keeps nothing open.
    """
    async with connected() as scene:
        await scene.host.die()
        await scene.link.wait_closed()

        with pytest.raises(HostLost):
            await scene.link.request(Describe())

        assert not scene.link._open


@in_frozen_time
async def test_close_cuts_the_connection() -> None:
    """
    The host sees the end of the connection that the daemon closed.
    """
    async with connected() as scene:
        scene.link.close()
        await scene.host.wait_closed()
        await scene.link.wait_closed()

        assert not scene.link.connected
        assert scene.lost == [scene.link]


GARBAGE = {
    "unknown kind": HEADER.pack(0, 99, 1),
    "too large": HEADER.pack(LARGEST + 1, Kind.RESPONSE, 1),
    "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


@pytest.mark.parametrize("garbage", GARBAGE)
@in_frozen_time
async def test_garbage_closes_the_link(garbage: str) -> None:
    """
    The link closes the connection to a host that breaks the protocol, and its requests fail.
    """
    async with connected() as scene:
        asking = begin(scene.link.request(Describe()))
        await scene.host.received()

        scene.host.send_bytes(GARBAGE[garbage])
        await scene.host.wait_closed()

        with pytest.raises(HostLost):
            await asking
        assert scene.lost == [scene.link]


# -- a host that does not answer


async def beat(scene: Scene, count: int) -> None:
    """Let so many beats pass; each sends a PING."""
    for _ in range(count):
        advance(BEAT)
        assert await scene.host.received() == Frame(kind=Kind.PING)


@in_frozen_time
async def test_trial_10_a_sign_of_life_answers_the_question_for_it() -> None:
    """
    What the host sent before it was asked is no answer; its answer removes the doubt.
    """
    async with connected() as scene:
        asking = begin(scene.link.answers(BEAT))
        question = await scene.host.received()
        scene.host.send(Frame(kind=Kind.EVENT, body=b"{}"))
        await scene.events.get()
        assert await still_waits(asking)
        advance(BEAT)

        assert not await asking
        assert scene.link.doubtful
        assert scene.link.responsive
        scene.host.send(Frame(kind=Kind.PONG, number=question.number))
        again = begin(scene.link.answers(BEAT))
        question = await scene.host.received()
        scene.host.send(Frame(kind=Kind.PONG, number=question.number))
        assert await again
        assert not scene.link.doubtful


@in_frozen_time
async def test_trial_10_a_host_that_dies_gives_no_sign_of_life() -> None:
    """
    The question is answered by the end of the connection, and after it at once.
    """
    async with connected() as scene:
        asking = begin(scene.link.answers(BEAT))
        await scene.host.received()

        await scene.host.die()

        assert not await asking
        assert not await scene.link.answers(BEAT)


@in_frozen_time
async def test_a_host_is_unresponsive_after_the_missed_beats() -> None:
    """
    Every open request fails at the fifth beat without a sign of life, and not earlier.
    """
    async with connected() as scene:
        asking = [begin(scene.link.request(Describe())) for _ in range(2)]
        for _ in asking:
            await scene.host.received()

        await beat(scene, 4)
        assert scene.link.responsive
        assert [task.done() for task in asking] == [False, False]
        await beat(scene, 1)

        for error in await asyncio.gather(*asking, return_exceptions=True):
            assert isinstance(error, HostUnresponsive)
            assert error.details == {"host_pid": PID, "delivery": "unknown"}
        assert not scene.link.responsive
        assert scene.link.connected
        assert scene.lost == []


@in_frozen_time
async def test_a_slow_host_that_lives_is_waited_for() -> None:
    """
    A request stays open as long as the host answers pings.
    """
    async with connected() as scene:
        asking = begin(scene.link.request(Describe()))
        request = await scene.host.received()

        for _ in range(3):
            await beat(scene, 4)
            scene.link.data_received(encoded(Frame(kind=Kind.PONG)))
        scene.host.send(response(request, b"at last"))

        assert await asking == b"at last"
        assert scene.link.responsive


@in_frozen_time
async def test_an_unresponsive_host_is_forgiven() -> None:
    """
    One frame of any kind makes the host responsive again, and it is asked again.
    """
    async with connected() as scene:
        failed = begin(scene.link.request(Describe()))
        await scene.host.received()
        await beat(scene, 5)
        await asyncio.wait([failed])
        assert not scene.link.responsive

        scene.host.send(Frame(kind=Kind.EVENT, body=b"{}"))
        await scene.events.get()
        asking = begin(scene.link.request(Describe()))
        request = await scene.host.received()
        await beat(scene, 4)
        scene.host.send(response(request, b"back"))

        assert scene.link.responsive
        assert await asking == b"back"
        assert isinstance(failed.exception(), HostUnresponsive)


@in_frozen_time
async def test_an_idle_link_sends_no_ping() -> None:
    """
    Nothing is sent to a host while no request is open.
    """
    async with connected() as scene:
        asking = begin(scene.link.control(Forget(instance="i-a")))
        scene.host.answer(await scene.host.received())
        await asking

        following = begin(scene.host.received())
        for _ in range(10):
            advance(BEAT)
            assert await still_waits(following)
        asking = begin(scene.link.control(Forget(instance="i-b")))

        assert (await following).kind is Kind.REQUEST
        asking.cancel()


@in_frozen_time
async def test_missed_beats_are_not_carried_over() -> None:
    """
    A new request gets all its beats, however many the last one missed.
    """
    async with connected() as scene:
        given_up = begin(scene.link.request(Describe()))
        await scene.host.received()
        await beat(scene, 4)
        given_up.cancel()
        await scene.host.received()
        advance(BEAT)  # the beat that finds nothing open
        await asyncio.wait([given_up], timeout=0)

        asking = begin(scene.link.request(Describe()))
        await scene.host.received()
        await beat(scene, 4)

        assert scene.link.responsive
        assert not asking.done()
        asking.cancel()


# -- streams


@in_frozen_time
async def test_a_stream_grants_credit_for_what_was_taken() -> None:
    """
    The reader gets every chunk up to the end, and the host gets credit for its size.
    """
    async with connected() as scene:
        sent = [(Kind.STREAM, b"one"), (Kind.STREAM, b"three"), (Kind.END, b"")]
        chunks, number = await scene.open_stream(*sent)

        taken = [chunk async for chunk in chunks]

        assert taken == [b"one", b"three"]
        assert [await scene.host.received() for _ in range(3)] == [
            Frame(kind=Kind.CREDIT, number=number, body=b"3"),
            Frame(kind=Kind.CREDIT, number=number, body=b"5"),
            Frame(kind=Kind.CANCEL, number=number),
        ]
        assert not scene.link._streams


@in_frozen_time
async def test_a_chunk_that_is_not_used_yet_gives_no_credit() -> None:
    """
    The host gets credit for a chunk only when the reader asks for the next one.
    """
    async with connected() as scene:
        opening = begin(scene.link.stream(STREAM, b"{}"))
        request = await scene.host.received()
        chunk = Frame(kind=Kind.STREAM, number=request.number, body=b"first")
        scene.host.send(response(request, OPENED), chunk)
        stream = await opening
        chunks = stream.chunks()
        await anext(chunks)

        stream.give(b"typed")
        following = begin(anext_of(chunks))
        kinds = [(await scene.host.received()).kind for _ in range(2)]

        assert kinds == [Kind.INPUT, Kind.CREDIT]
        following.cancel()


async def anext_of(chunks: AsyncIterator[bytes]) -> bytes:
    """Return the next chunk."""
    return await anext(chunks)


@in_frozen_time
async def test_input_goes_to_the_stream_it_belongs_to() -> None:
    """
    The host receives typed bytes with the number of the stream.
    """
    async with connected() as scene:
        opening = begin(scene.link.stream(STREAM, b'{"op":"attach"}'))
        request = await scene.host.received()
        scene.host.send(response(request, OPENED))
        stream = await opening

        stream.give(b"\x03")

        assert decoded(request.body) == (STREAM, b'{"op":"attach"}')
        assert (stream.opened, stream.head) == (True, OPENED)
        typed = Frame(kind=Kind.INPUT, number=request.number, body=b"\x03")
        assert await scene.host.received() == typed


@in_frozen_time
async def test_a_reader_who_leaves_ends_the_stream_at_the_host() -> None:
    """
    The host receives a CANCEL, and chunks that arrive later are dropped.
    """
    async with connected() as scene:
        chunks, number = await scene.open_stream((Kind.STREAM, b"first"))

        async with contextlib.aclosing(chunks) as reader:  # type: ignore[type-var]
            assert await anext(reader) == b"first"

        assert await scene.host.received() == Frame(kind=Kind.CANCEL, number=number)
        assert not scene.link._streams


@in_frozen_time
async def test_a_refused_stream_leaves_nothing() -> None:
    """
    The caller gets the host's refusal as the head, and the link forgets the stream.
    """
    async with connected() as scene:
        opening = begin(scene.link.stream(STREAM, b"{}"))
        request = await scene.host.received()

        scene.host.refuse(request, UnknownSession("a"))
        stream = await opening

        assert not stream.opened
        assert b"unknown session a" in stream.head
        assert not scene.link._streams


@in_frozen_time
async def test_a_stream_that_is_given_up_while_it_opens_leaves_nothing() -> None:
    """
    The host receives a CANCEL, and the link forgets the stream.
    """
    async with connected() as scene:
        opening = begin(scene.link.stream(STREAM, b"{}"))
        request = await scene.host.received()

        opening.cancel()
        await asyncio.wait([opening])

        assert await scene.host.received() == Frame(kind=Kind.CANCEL, number=request.number)
        assert not scene.link._streams


@in_frozen_time
async def test_a_stream_ends_with_its_host() -> None:
    """
    The reader gets what arrived before the host was lost, and then the end.
    """
    async with connected() as scene:
        chunks, _ = await scene.open_stream((Kind.STREAM, b"last"))

        await scene.host.die()
        taken = [chunk async for chunk in chunks]

        assert taken == [b"last"]


@in_frozen_time
async def test_streams_are_kept_apart() -> None:
    """
    A chunk reaches the stream whose number it has, and an unknown number reaches none.
    """
    async with connected() as scene:
        one, first = await scene.open_stream()
        two, second = await scene.open_stream()

        scene.host.send(
            Frame(kind=Kind.STREAM, number=999, body=b"nobody's"),
            Frame(kind=Kind.STREAM, number=second, body=b"second"),
            Frame(kind=Kind.STREAM, number=first, body=b"first"),
        )

        assert (await anext(one), await anext(two)) == (b"first", b"second")
        for chunks in (one, two):
            async with contextlib.aclosing(chunks):  # type: ignore[type-var]
                pass
