import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_pty.keeper.spool import create_spool, create_unlinked_file
from agent_pty.store.ring import (
    AHEAD,
    MOST_REMEMBERED,
    MOST_TYPED,
    SIZE,
    Ring,
    RingLost,
    is_unused,
)
from support.spool import new_ring

KEPT = SIZE - AHEAD
# What a spool of the previous build has; a new one also has two places to remember things.
BEFORE = 4096 + SIZE
WHOLE = BEFORE + 2 * 65_536
# Lengths that fall short of the room, fill it, and lead around the end of the ring.
LENGTHS = st.lists(
    st.one_of(st.integers(1, 200), st.integers(AHEAD - 3, AHEAD), st.just(SIZE)), max_size=25
)


def stream(start: int, count: int) -> bytes:
    """Return bytes that tell their own place, none of them zero."""
    numbers = range(start // 4, (start + count) // 4 + 1)
    words = b"".join(struct.pack("<I", number | 0x01010101) for number in numbers)
    return words[start % 4 : start % 4 + count]


def write(ring: Ring, data: bytes) -> None:
    """Write as the host does: what fits into the room, then count it."""
    while data:
        room = ring.room()
        count = min(len(room), len(data))
        room[:count] = data[:count]
        room.release()
        ring.commit(count)
        data = data[count:]


def die_after_reading(ring: Ring, data: bytes) -> None:
    """Do what a host does that is killed after the read and before the count."""
    room = ring.room()
    room[: len(data)] = data
    room.release()
    ring.close()


KINDS = {"memory": create_spool, "file without a name": create_unlinked_file}


@contextmanager
def spool(create: Callable[[], int] = create_spool) -> Iterator[int]:
    """Make a spool, as the keeper does."""
    fd = create()
    try:
        yield fd
    finally:
        os.close(fd)


@pytest.fixture(params=list(KINDS.values()), ids=list(KINDS))
def fd(request: pytest.FixtureRequest) -> Iterator[int]:
    """Where a ring may be made; a host that comes later is given the same."""
    with spool(request.param) as made:
        yield made


@given(lengths=LENGTHS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_last_bytes_are_there(lengths: list[int]) -> None:
    """
    However the stream was cut, the last of it reads back the same, also after reopening.
    """
    with spool() as fd:
        ring = Ring(fd, create=True)
        for length in lengths:
            write(ring, stream(ring.written, length))
        ring.close()
        again = Ring(fd)

        assert again.written == sum(lengths)
        assert again.oldest == max(0, again.written - KEPT)
        expected = stream(again.oldest, again.written - again.oldest)
        assert again.read(again.oldest, again.written) == expected
        again.close()


@given(before=st.integers(0, SIZE + AHEAD), uncounted=st.integers(0, 3000))
@settings(max_examples=40, deadline=None)
def test_no_byte_dies_with_its_reader(before: int, uncounted: int) -> None:
    """
    Bytes that were read but not counted are found by the next host, wherever the file wraps.
    """
    with spool() as fd:
        ring = Ring(fd, create=True)
        write(ring, stream(0, before))
        room = len(ring.room())
        data = stream(before, min(uncounted, room))

        die_after_reading(ring, data)
        again = Ring(fd)
        again.recover()

        assert again.written == before + len(data)
        assert again.read(before, again.written) == data
        again.close()


def test_recovering_finds_nothing_where_nothing_was_read(fd: int) -> None:
    """
    What an earlier round left in the file is not taken for new bytes.
    """
    ring = Ring(fd, create=True)
    write(ring, stream(0, 2 * SIZE + 12_345))
    ring.close()

    again = Ring(fd)
    again.recover()

    assert again.written == 2 * SIZE + 12_345
    again.close()


def test_a_full_room_at_the_end_of_the_file_is_recovered(fd: int) -> None:
    """
    A read that filled the last piece of the file is found whole.
    """
    ring = Ring(fd, create=True)
    write(ring, stream(0, SIZE - 5000))
    data = stream(SIZE - 5000, 5000)

    die_after_reading(ring, data)
    again = Ring(fd)
    again.recover()

    assert again.read(SIZE - 5000, SIZE) == data
    again.close()


def test_zeros_at_the_end_are_lost_and_harmless(fd: int) -> None:
    """
    Zeros within the bytes are kept; at their end they look like nothing, which they mean.
    """
    ring = Ring(fd, create=True)

    die_after_reading(ring, b"a\0b\0\0")
    again = Ring(fd)
    again.recover()

    assert again.read(0, again.written) == b"a\0b"
    write(again, b"next")
    assert again.read(0, again.written) == b"a\0bnext"
    again.close()


def test_recovering_twice_counts_once(fd: int) -> None:
    """
    A second host that recovers finds everything counted.
    """
    ring = Ring(fd, create=True)
    die_after_reading(ring, b"once")

    again = Ring(fd)
    again.recover()
    again.recover()

    assert again.written == 4
    again.close()


def test_the_room_is_one_piece_and_never_empty(fd: int) -> None:
    """
    At every place of the file there is room, at most as much as is kept clear.
    """
    ring = Ring(fd, create=True)

    for step in (1, AHEAD, SIZE - 2 * AHEAD, AHEAD - 2, 1, 1):
        write(ring, stream(ring.written, step))
        room = ring.room()
        assert 0 < len(room) <= AHEAD
        assert bytes(room) == bytes(len(room))
        room.release()
    ring.close()


def test_the_numbers_survive(fd: int) -> None:
    """
    What was answered, the input's cursor and what was shown are there again after a crash.
    """
    ring = Ring(fd, create=True)
    write(ring, b"question")
    ring.acknowledge(ring.written)
    write(ring, b"more")
    ring.note(input_cursor=7)
    ring.note(shown=3)
    ring.close()

    again = Ring(fd)

    assert (again.answered, again.written) == (8, 12)
    assert (again.input_cursor, again.shown) == (7, 3)
    again.close()


def test_an_acknowledgement_survives(fd: int) -> None:
    """
    A reply that was sent is not owed again, even if the host dies right after.
    """
    ring = Ring(fd, create=True)
    write(ring, b"question")
    ring.acknowledge(ring.written)
    ring.close()

    again = Ring(fd)

    assert again.answered == 8
    again.close()


def test_what_is_not_there_cannot_be_read(fd: int) -> None:
    """
    Bytes that were overwritten or are yet to come are an error, not something else.
    """
    ring = Ring(fd, create=True)
    write(ring, stream(0, SIZE))

    with pytest.raises(RingLost, match="is not within"):
        ring.read(ring.oldest - 1, ring.written)
    with pytest.raises(RingLost, match="is not within"):
        ring.read(ring.oldest, ring.written + 1)
    ring.close()


def test_a_spool_is_unused_until_a_ring_is_made(fd: int) -> None:
    """
    A host can tell whether another one had the spool before it.
    """
    before = is_unused(fd)

    Ring(fd, create=True).close()

    assert before
    assert not is_unused(fd)


def test_a_host_that_died_before_it_had_a_ring_leaves_the_spool_unused(fd: int) -> None:
    """
    A spool that has its size and nothing else is begun by the next host.
    """
    os.ftruncate(fd, WHOLE)

    assert is_unused(fd)
    ring = Ring(fd, create=True)
    assert (ring.written, ring.oldest) == (0, 0)
    ring.close()


def test_what_is_in_memory_costs_nothing_before_it_is_written() -> None:
    """
    Of a quiet session some pages are there, not the whole megabyte, also after its host died.
    """
    with spool() as fd:
        ring = Ring(fd, create=True)
        write(ring, b"$ ")
        ring.close()
        again = Ring(fd)
        again.recover()

        assert os.fstat(fd).st_blocks * 512 <= 4 * mmap.PAGESIZE
        again.close()


def test_a_file_has_its_room_from_the_beginning() -> None:
    """
    A full disk is reported when the spool is made: later it would end the host.
    """
    with spool(create_unlinked_file) as fd:
        Ring(fd, create=True).close()

        assert os.fstat(fd).st_blocks * 512 >= WHOLE


@pytest.mark.parametrize("size", [0, SIZE, 2 * WHOLE])
def test_nobody_can_change_the_size_of_what_is_mapped(size: int) -> None:
    """
    The kernel refuses it: a byte beyond the end would be a SIGBUS for the host.
    """
    with spool() as fd:
        ring = Ring(fd, create=True)

        with pytest.raises(PermissionError):
            os.ftruncate(fd, size)

        ring.close()


def test_a_ring_has_a_descriptor_of_its_own(fd: int) -> None:
    """
    Who gave the spool may close it; the ring's can be given to a keeper, and goes with the ring.
    """
    given = os.dup(fd)
    ring = Ring(given, create=True)
    os.close(given)
    write(ring, b"kept")
    own = ring.fd

    assert os.path.sameopenfile(own, fd)
    assert not os.get_inheritable(own)
    ring.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(own)


def test_a_spool_of_another_size_is_lost(fd: int) -> None:
    """
    It is not mapped, not even to begin anew: beyond its end there would be a SIGBUS.
    """
    os.ftruncate(fd, SIZE)

    for create in (False, True):
        with pytest.raises(RingLost, match=f"has {SIZE} bytes, not {WHOLE}"):
            Ring(fd, create=create)


def test_a_spool_of_another_version_is_lost(fd: int) -> None:
    """
    The message names both versions.
    """
    Ring(fd, create=True).close()
    os.pwrite(fd, struct.pack("<Q", 99), 0)

    with pytest.raises(RingLost, match="version 99, not 1"):
        Ring(fd)


def test_a_ring_that_is_begun_anew_has_nothing_of_the_one_before(fd: int) -> None:
    """
    Neither what was counted nor what was not is found by the host after that.
    """
    ring = Ring(fd, create=True)
    write(ring, stream(0, 3 * AHEAD))
    die_after_reading(ring, b"uncounted")

    Ring(fd, create=True).close()
    again = Ring(fd)
    again.recover()

    assert (again.written, again.answered, again.input_cursor) == (0, 0, 0)
    assert bytes(again.room()) == bytes(AHEAD)
    again.close()


def test_the_file_of_the_previous_build_is_read(tmp_path: Path, fd: int) -> None:
    """
    It had the same bytes in a file with a name.
    """
    ring = Ring(fd, create=True)
    write(ring, b"kept")
    path = tmp_path / "raw"
    path.write_bytes(os.pread(fd, BEFORE, 0))
    ring.close()

    found = Ring.of_file(str(path))
    write(found, b" and on")
    found.remember(b"there is no room for it")

    assert found.read(0, found.written) == b"kept and on"
    assert path.read_bytes()[4096:4107] == b"kept and on"
    assert found.memory is None
    found.close()


def test_a_missing_file_is_lost(tmp_path: Path) -> None:
    """
    The message has the path and what the system says.
    """
    path = str(tmp_path / "raw")

    with pytest.raises(RingLost, match=f"{path}: No such file"):
        Ring.of_file(path)


@pytest.mark.parametrize("length", [0, 5, 4000, 70_000])
def test_unfinished_input_outlives_its_writer(length: int) -> None:
    """
    As much of its end as there is room for, and how long it was.
    """
    ring = new_ring()
    held = bytes(33 + number % 90 for number in range(length))

    ring.note_typed(held)
    ring.commit(10)
    again = Ring(ring.fd)

    known, end = again.typed
    assert known == length
    assert held.endswith(end)
    assert len(end) == min(length, MOST_TYPED)


def test_the_last_thing_that_was_remembered_outlives_its_writer(fd: int) -> None:
    """
    Whatever the terminal writes around the end of the ring meanwhile.
    """
    ring = Ring(fd, create=True)
    assert ring.memory == b""

    for number in range(5):
        ring.remember(b"thing %d" % number)
        write(ring, stream(0, SIZE // 2))
        assert ring.memory == b"thing %d" % number
    ring.remember(b"x" * MOST_REMEMBERED)
    ring.close()

    again = Ring(fd)
    assert again.memory == b"x" * MOST_REMEMBERED
    assert again.read(again.oldest, again.written)[-4:] == stream(0, SIZE // 2)[-4:]
    again.close()


def test_more_than_there_is_room_for_is_not_remembered_in_part(fd: int) -> None:
    """
    Nor is what was remembered before it, which is no longer true.
    """
    ring = Ring(fd, create=True)
    ring.remember(b"before")

    ring.remember(bytes(MOST_REMEMBERED + 1))

    assert ring.memory is None
    ring.remember(b"after")
    assert ring.memory == b"after"
    ring.close()


@pytest.mark.parametrize("at", [0, 1])
def test_a_writer_that_dies_while_it_remembers_leaves_the_thing_before(fd: int, at: int) -> None:
    """
    One of the two places is always whole.
    """
    ring = Ring(fd, create=True)
    ring.remember(b"older")
    ring.remember(b"newer")
    ring.close()

    os.pwrite(fd, bytes(16) + b"torn", BEFORE + at * 65_536)

    again = Ring(fd)
    assert again.memory == (b"newer", b"older")[at]
    again.close()


def test_a_ring_that_is_begun_anew_remembers_nothing(fd: int) -> None:
    """
    What another session's gate knew is not its own.
    """
    ring = Ring(fd, create=True)
    ring.remember(b"old")
    ring.close()

    again = Ring(fd, create=True)

    assert again.memory == b""
    again.close()
