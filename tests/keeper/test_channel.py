import fcntl
import json
import os
import select
import socket
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_pty.core.frame import Frame, Garbage, Kind, encoded
from agent_pty.keeper.channel import Channel, ChannelClosed, Message

LARGE = "x" * 3_000_000


@dataclass
class Ends:
    """Two channels that are connected."""

    one: Channel
    other: Channel

    def deliver(self) -> list[Message]:
        """Send and receive by turns until everything has arrived."""
        arrived: list[Message] = []
        while True:
            sent = self.one.flush()
            arrived += self.other.receive()
            if sent:
                return arrived

    def close(self) -> None:
        """Close both."""
        self.one.close()
        self.other.close()


def connected() -> Ends:
    """Make two ends of a socket pair."""
    one, other = socket.socketpair()
    return Ends(Channel(one), Channel(other))


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Two ends; closed afterwards."""
    pair = connected()
    yield pair
    pair.close()


def is_open(fd: int) -> bool:
    """Whether a descriptor number is in use."""
    return os.path.exists(f"/proc/self/fd/{fd}")


def count_open() -> int:
    """Count the descriptors of this process."""
    return len(os.listdir("/proc/self/fd"))


BODIES = st.lists(
    st.dictionaries(st.text(max_size=5).filter("fds".__ne__), st.text() | st.integers(), max_size=4)
)


@given(bodies=BODIES)
@settings(max_examples=50, deadline=None)
def test_messages_arrive_as_they_were_sent(bodies: list[dict[str, str | int]]) -> None:
    """
    Every message arrives once, whole and in order.
    """
    ends = connected()

    for body in bodies:
        ends.one.post(body)
    arrived = ends.deliver()

    assert [message.body for message in arrived] == bodies
    ends.close()


def test_descriptors_come_with_their_message(ends: Ends) -> None:
    """
    Each message gets the descriptors that were sent with it; they are the same open files.
    """
    pipes = [os.pipe() for _ in range(3)]
    ends.one.post({"number": 0}, [pipes[0][1]])
    ends.one.post({"number": 1})
    ends.one.post({"number": 2}, [pipes[1][1], pipes[2][1]])

    messages = ends.deliver()

    assert [(message.body, len(message.fds)) for message in messages] == [
        ({"number": 0}, 1),
        ({"number": 1}, 0),
        ({"number": 2}, 2),
    ]
    received = [fd for message in messages for fd in message.fds]
    for number, fd in enumerate(received):
        os.write(fd, b"%d" % number)
        assert os.read(pipes[number][0], 10) == b"%d" % number
    for fd in [*received, *(fd for pipe in pipes for fd in pipe)]:
        os.close(fd)


def test_received_descriptors_do_not_outlive_exec(ends: Ends) -> None:
    """
    A program started right after the arrival does not inherit them.
    """
    read, write = os.pipe()
    os.set_inheritable(write, True)
    ends.one.post({}, [write])

    (message,) = ends.deliver()

    (received,) = message.fds
    assert fcntl.fcntl(received, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
    for fd in (read, write, received):
        os.close(fd)


def test_a_large_message_goes_in_pieces(ends: Ends) -> None:
    """
    What the socket does not take is kept; the descriptor goes along once, not with every piece.
    """
    read, write = os.pipe()

    finished = ends.one.post({"text": LARGE}, [write])
    ends.one.post({"text": "small"})
    assert not finished
    assert ends.one.unsent == 2
    messages = ends.deliver()

    assert [message.body["text"] for message in messages] == [LARGE, "small"]
    assert [len(message.fds) for message in messages] == [1, 0]
    assert ends.one.unsent == 0
    for fd in (read, write, *messages[0].fds):
        os.close(fd)


def test_the_sender_keeps_its_descriptors(ends: Ends) -> None:
    """
    Sending closes nothing of the caller's, and keeps no copy after it is done.
    """
    read, write = os.pipe()
    before = count_open()

    ends.one.post({}, [write])

    assert is_open(write)
    assert count_open() == before
    os.close(read)
    os.close(write)


def test_a_caller_may_close_what_waits_to_be_sent(ends: Ends) -> None:
    """
    A queued descriptor is a copy: closing the original does not break the message.
    """
    read, write = os.pipe()
    ends.one.post({"text": LARGE})
    ends.one.post({}, [write])
    os.close(write)

    messages = ends.deliver()

    os.write(messages[1].fds[0], b"still here")
    assert os.read(read, 20) == b"still here"
    os.close(read)
    os.close(messages[1].fds[0])


def test_closing_releases_what_was_not_sent() -> None:
    """
    Descriptors that wait in the queue are closed with the channel: the pipe ends.
    """
    ends = connected()
    read, write = os.pipe()
    ends.one.post({"text": LARGE})
    ends.one.post({}, [write])
    os.close(write)

    ends.one.close()

    assert select.select([read], [], [], 0)[0]
    assert os.read(read, 1) == b""
    os.close(read)
    ends.close()


def test_closing_releases_what_was_not_delivered() -> None:
    """
    Descriptors whose message is still incomplete are closed with the channel.
    """
    ends = connected()
    read, write = os.pipe()
    ends.one.post({"text": LARGE}, [write])
    os.close(write)
    assert ends.other.receive() == []

    ends.other.close()
    ends.one.close()

    assert os.read(read, 1) == b""
    os.close(read)


def test_the_end_is_reported_after_the_last_message(ends: Ends) -> None:
    """
    What was sent before the other side left is delivered first.
    """
    ends.one.post({"last": "words"})
    ends.one.close()

    assert [message.body for message in ends.other.receive()] == [{"last": "words"}]
    with pytest.raises(ChannelClosed, match="closed the connection"):
        ends.other.receive()


def test_last_words_are_heard_from_one_who_does_not_listen(ends: Ends) -> None:
    """
    A peer that dies with our message unread resets the connection; its own still counts.
    """
    read, write = os.pipe()
    ends.other.post({"unread": True})
    ends.one.post({"last": "words"}, [write])
    ends.one.close()

    (message,) = ends.other.receive()

    assert message.body == {"last": "words"}
    with pytest.raises(ChannelClosed):
        ends.other.receive()
    for fd in (read, write, *message.fds):
        os.close(fd)


def test_sending_to_nobody_is_an_end(ends: Ends) -> None:
    """
    A peer that is gone is reported as such, not as a broken pipe.
    """
    ends.other.close()

    with pytest.raises(ChannelClosed):
        ends.one.post({"anybody": "there"})


@pytest.mark.parametrize(
    "body", [b"no json", b"\xff\xfe", b"[1]", b'"fds"', b'{"fds":"many"}', b"[" * 100_000]
)
def test_a_body_that_is_no_message_is_garbage(body: bytes) -> None:
    """
    A peer that sends frames of something else is told apart from one that left.
    """
    one, other = socket.socketpair()
    channel = Channel(other)
    one.sendall(encoded(Frame(kind=Kind.EVENT, body=body)))

    with pytest.raises(Garbage):
        channel.receive()

    channel.close()
    one.close()


def test_announced_descriptors_must_come() -> None:
    """
    A message that speaks of more descriptors than came ends the connection.
    """
    one, other = socket.socketpair()
    channel = Channel(other)
    body = json.dumps({"fds": 2}).encode()
    socket.send_fds(one, [encoded(Frame(kind=Kind.EVENT, body=body))], [one.fileno()])

    with pytest.raises(ChannelClosed, match="2 descriptors announced, 1 arrived"):
        channel.receive()

    channel.close()
    one.close()
