import os
import tempfile
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_pty.emulator import Emulator
from agent_pty.host.drain import Preview, drain
from agent_pty.host.stream import Stream

NONCE = "5eed"
HELD = 4095  # what the kernel hands over in one read
WRITTEN_AT_ONCE = 10_000  # without being kept waiting for a reader
DONE = f"\x1b]133;D;0;apty={NONCE}\x07".encode()
ASK = b"\x1b[6n"


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Give the two ends of a terminal that changes nothing."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    os.set_blocking(slave, False)
    try:
        yield master, slave
    finally:
        os.close(master)
        os.close(slave)


@contextmanager
def stream() -> Iterator[Stream]:
    """Give a stream with files of its own."""
    with tempfile.TemporaryDirectory() as directory:
        made = Stream.create(directory, rows=24, cols=80, keep=1 << 20, nonce=NONCE)
        yield made
        made.close()


def take(stream: Stream, data: bytes, master: int, slave: int, *, at_once: int) -> None:
    """Let *stream* take *data*, written as fast as it can be, but no more than so much at once."""
    while data:
        with suppress(BlockingIOError):
            data = data[os.write(slave, data[:at_once]) :]
        while stream.take(master).count:
            pass


def drained(written: bytes, *, room: int, reads: int) -> tuple[bytes, list[bytes]]:
    """Return what a program wrote, and what there was whenever more was expected."""
    place, seen = memoryview(bytearray(room)), list[bytes]()
    with terminal() as (master, slave):
        os.write(slave, written)
        count, still_open = drain(master, place, reads, lambda batch: seen.append(bytes(batch)))
    assert still_open
    return bytes(place[:count]), seen


def test_a_flood_is_read_in_one_batch() -> None:
    """
    Each read brings what the kernel holds, and between two there is time for what was read.
    """
    written = bytes(range(32, 127)) * 100

    got, seen = drained(written, room=1 << 16, reads=16)

    assert got == written
    assert seen == [written[:HELD], written[: 2 * HELD]]


@pytest.mark.parametrize(("room", "reads", "most"), [(1 << 16, 2, 2 * HELD), (9000, 16, 9000)])
def test_a_batch_has_an_end(room: int, reads: int, most: int) -> None:
    """
    Neither more reads than allowed nor more bytes than there is room for.
    """
    got, _ = drained(b"x" * WRITTEN_AT_ONCE, room=room, reads=reads)

    assert HELD < len(got) <= most


def test_the_end_of_a_terminal_is_told() -> None:
    """
    A terminal whose last program has gone is read to its end, and then closed.
    """
    master, slave = os.openpty()
    os.set_blocking(master, False)
    os.write(slave, b"last words")
    os.close(slave)

    count, still_open = drain(master, memoryview(bytearray(1 << 16)), 16, lambda _: None)

    assert (count, still_open) == (10, False)
    os.close(master)


def test_text_is_shown_early_and_nothing_behind_an_escape() -> None:
    """
    What comes behind an escape waits, even if it is text.
    """
    emulator = Emulator(rows=3, cols=20)
    preview = Preview(emulator)

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
    max_size=8,
)


@given(parts=PIECES)
@example(parts=[b"x" * 5000, ASK, DONE, b"x" * 5000])
@settings(max_examples=40, deadline=None)
def test_a_flood_means_what_its_bytes_mean(parts: list[bytes]) -> None:
    """
    Screen, text and marks are those of the same bytes read little by little.
    """
    data = b"".join(parts)
    with stream() as whole, stream() as slow, terminal() as (master, slave):
        take(whole, data, master, slave, at_once=WRITTEN_AT_ONCE)
        take(slow, data, master, slave, at_once=1000)

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
    with stream() as whole, terminal() as (master, slave):
        os.write(slave, data)

        assert whole.take(master).replies == replies


def test_a_mark_cut_in_two_is_followed_by_a_flood() -> None:
    """
    The text behind the mark is shown once.
    """
    with stream() as whole, stream() as slow, terminal() as (master, slave):
        for cut in (DONE[:9], DONE[9:] + b"0123456789\r\n" * 500):
            os.write(slave, cut)
            whole.take(master)
            slow._understand(cut)

        assert whole.emulator.snapshot() == slow.emulator.snapshot()
        assert whole.take_marks() == slow.take_marks() != []
