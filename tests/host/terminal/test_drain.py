import fcntl
import os
import socket
import struct
import tempfile
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_pty.emulator import Emulator
from agent_pty.host.terminal.drain import Preview, drain
from agent_pty.host.terminal.output import TerminalOutput
from support.spool import new_ring

NONCE = "5eed"
HELD = 4095  # what the kernel hands over in one read
ROOM = 1 << 16
DONE = f"\x1b]133;D;0;apty={NONCE}\x07".encode()
ASK = b"\x1b[6n"


class Source:
    """Gives what was written in pieces, as a terminal does, but whole and at once."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._theirs.setblocking(False)

    @property
    def fd(self) -> int:
        """Where to read."""
        return self._theirs.fileno()

    def write(self, data: bytes, *, held: int = HELD) -> None:
        """Have *data* ready, so much for each read."""
        for start in range(0, len(data), held):
            self._ours.send(data[start : start + held])

    def close(self) -> None:
        """End."""
        self._ours.close()
        self._theirs.close()


@contextmanager
def source() -> Iterator[Source]:
    """Give a source."""
    made = Source()
    yield made
    made.close()


@contextmanager
def stream() -> Iterator[TerminalOutput]:
    """Give a stream with files of its own."""
    with tempfile.TemporaryDirectory() as directory:
        made = TerminalOutput.create(
            directory, new_ring(), rows=24, cols=80, keep=1 << 20, nonce=NONCE
        )
        yield made
        made.close()


def test_a_terminal_is_emptied() -> None:
    """
    What a program wrote is read, and what there is so far is shown while more is on its way.
    """
    written = bytes(range(32, 127)) * 100
    place, count, seen = memoryview(bytearray(ROOM)), 0, list[bytes]()
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    os.write(slave, written)
    while struct.unpack("i", fcntl.ioctl(master, termios.FIONREAD, bytes(4))) != (HELD,):
        pass  # a worker of the kernel moves it

    while count < len(written):
        got, still_open = drain(master, place[count:], 16, lambda batch: seen.append(bytes(batch)))
        count += got
        assert still_open
    os.close(slave)

    assert drain(master, place[count:], 16, lambda _: None) == (0, False)
    assert place[:count] == written
    assert seen[0] == written[:HELD]
    os.close(master)


def test_between_two_reads_there_is_time_for_what_was_read() -> None:
    """
    Whenever a read was full, more is on its way.
    """
    written = bytes(range(32, 127)) * 100
    place, seen = memoryview(bytearray(ROOM)), list[bytes]()

    with source() as one:
        one.write(written)
        got = drain(one.fd, place, 16, lambda batch: seen.append(bytes(batch)))

    assert got == (len(written), True)
    assert place[: len(written)] == written
    assert seen == [written[:HELD], written[: 2 * HELD]]


@pytest.mark.parametrize(("room", "reads", "most"), [(ROOM, 2, 2 * HELD), (9000, 16, 9000)])
def test_a_batch_has_an_end(room: int, reads: int, most: int) -> None:
    """
    Neither more reads than allowed nor more bytes than there is room for.
    """
    with source() as one:
        one.write(b"x" * 20_000)
        count, still_open = drain(one.fd, memoryview(bytearray(room)), reads, lambda _: None)

    assert HELD < count <= most
    assert still_open


def test_text_is_shown_early_and_nothing_behind_an_escape() -> None:
    """
    What comes behind an escape waits, even if it is text.
    """
    emulator = Emulator(rows=3, cols=20)
    preview = Preview(emulator, over=False)

    for batch in (b"one ", b"one two", b"one two \x1b[mthree", b"one two \x1b[mthree four"):
        preview.show(memoryview(batch))

    assert emulator.text().rstrip() == "one two"
    assert preview.shown == len(b"one two")


# Long pieces, so that a batch has several reads; marks and questions at any place in it.
PIECES = st.lists(
    st.one_of(
        st.integers(1, 12_000).map(lambda length: (b"0123456789abcde\r\n" * 800)[:length]),
        st.sampled_from(
            [DONE, DONE[:9], DONE[9:], ASK, b"\x1b]11;?", b"\x07", b"\x05", b"\x1b[1m"]
        ),
    ),
    max_size=4,
)


@given(parts=PIECES)
@example(parts=[b"x" * 5000, ASK, DONE, b"x" * 5000])
@settings(max_examples=40, deadline=None)
def test_a_flood_means_what_its_bytes_mean(parts: list[bytes]) -> None:
    """
    Screen, text and marks are those of the same bytes read little by little.
    """
    data = b"".join(parts)
    with stream() as whole, stream() as slow, source() as one:
        one.write(data)
        while whole.take(one.fd).count:
            pass
        for start in range(0, len(data), 1000):
            one.write(data[start : start + 1000])
            slow.take(one.fd)

        assert whole.emulator.snapshot() == slow.emulator.snapshot()
        assert whole.cursor == slow.cursor
        assert whole.transcript.pending == slow.transcript.pending
        assert whole.take_marks() == slow.take_marks()


@pytest.mark.parametrize(
    ("data", "replies"),
    [
        (b"x" * 5000 + ASK + DONE, b""),
        (b"x" * 5000 + ASK, b"\x1b[24;41R"),
        (b"\x05" + b"x" * 5000, b""),
        (b"x" * 5000 + DONE + ASK, b"\x1b[24;41R"),
    ],
)
def test_replies_belong_before_or_behind_a_mark(data: bytes, replies: bytes) -> None:
    """
    What was asked before the end of a command is not answered to the shell, flood or not.
    """
    with stream() as whole, source() as one:
        one.write(data)

        assert whole.take(one.fd).replies == replies


def test_a_mark_cut_in_two_is_followed_by_a_flood() -> None:
    """
    The text behind the mark is shown once.
    """
    lines = b"0123456789\r\n" * 500
    with stream() as whole, stream() as slow, source() as one:
        one.write(DONE[:9])
        whole.take(one.fd)
        one.write(DONE[9:] + lines)
        whole.take(one.fd)
        one.write(DONE + lines, held=1000)
        slow.take(one.fd)

        assert whole.emulator.snapshot() == slow.emulator.snapshot()
        assert whole.take_marks() == slow.take_marks() != []
