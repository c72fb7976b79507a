import os
import stat
import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_pty.store.ring import AHEAD, SIZE, Ring, RingLost

KEPT = SIZE - AHEAD
# Lengths that fall short of the room, fill it, and lead around the end of the file.
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


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where a ring may be made."""
    return str(tmp_path / "raw")


@given(lengths=LENGTHS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_last_bytes_are_there(lengths: list[int]) -> None:
    """
    However the stream was cut, the last of it reads back the same, also after reopening.
    """
    with tempfile.TemporaryDirectory() as directory:
        ring = Ring(f"{directory}/raw", create=True)
        for length in lengths:
            write(ring, stream(ring.written, length))
        ring.close()
        again = Ring(f"{directory}/raw", create=False)

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
    with tempfile.TemporaryDirectory() as directory:
        ring = Ring(f"{directory}/raw", create=True)
        write(ring, stream(0, before))
        room = len(ring.room())
        data = stream(before, min(uncounted, room))

        die_after_reading(ring, data)
        again = Ring(f"{directory}/raw", create=False)
        again.recover()

        assert again.written == before + len(data)
        assert again.read(before, again.written) == data
        again.close()


def test_recovering_finds_nothing_where_nothing_was_read(path: str) -> None:
    """
    What an earlier round left in the file is not taken for new bytes.
    """
    ring = Ring(path, create=True)
    write(ring, stream(0, 2 * SIZE + 12_345))
    ring.close()

    again = Ring(path, create=False)
    again.recover()

    assert again.written == 2 * SIZE + 12_345
    again.close()


def test_a_full_room_at_the_end_of_the_file_is_recovered(path: str) -> None:
    """
    A read that filled the last piece of the file is found whole.
    """
    ring = Ring(path, create=True)
    write(ring, stream(0, SIZE - 5000))
    data = stream(SIZE - 5000, 5000)

    die_after_reading(ring, data)
    again = Ring(path, create=False)
    again.recover()

    assert again.read(SIZE - 5000, SIZE) == data
    again.close()


def test_zeros_at_the_end_are_lost_and_harmless(path: str) -> None:
    """
    Zeros within the bytes are kept; at their end they look like nothing, which they mean.
    """
    ring = Ring(path, create=True)

    die_after_reading(ring, b"a\0b\0\0")
    again = Ring(path, create=False)
    again.recover()

    assert again.read(0, again.written) == b"a\0b"
    write(again, b"next")
    assert again.read(0, again.written) == b"a\0bnext"
    again.close()


def test_recovering_twice_counts_once(path: str) -> None:
    """
    A second host that recovers finds everything counted.
    """
    ring = Ring(path, create=True)
    die_after_reading(ring, b"once")

    again = Ring(path, create=False)
    again.recover()
    again.recover()

    assert again.written == 4
    again.close()


def test_the_room_is_one_piece_and_never_empty(path: str) -> None:
    """
    At every place of the file there is room, at most as much as is kept clear.
    """
    ring = Ring(path, create=True)

    for step in (1, AHEAD, SIZE - 2 * AHEAD, AHEAD - 2, 1, 1):
        write(ring, stream(ring.written, step))
        room = ring.room()
        assert 0 < len(room) <= AHEAD
        assert bytes(room) == bytes(len(room))
        room.release()
    ring.close()


def test_the_numbers_survive(path: str) -> None:
    """
    What was answered, the input's cursor and what was shown are there again after a crash.
    """
    ring = Ring(path, create=True)
    write(ring, b"question")
    ring.acknowledge(ring.written)
    write(ring, b"more")
    ring.note(input_cursor=7)
    ring.note(shown=3)
    ring.close()

    again = Ring(path, create=False)

    assert (again.answered, again.written) == (8, 12)
    assert (again.input_cursor, again.shown) == (7, 3)
    again.close()


def test_an_acknowledgement_survives(path: str) -> None:
    """
    A reply that was sent is not owed again, even if the host dies right after.
    """
    ring = Ring(path, create=True)
    write(ring, b"question")
    ring.acknowledge(ring.written)
    ring.close()

    again = Ring(path, create=False)

    assert again.answered == 8
    again.close()


def test_what_is_not_there_cannot_be_read(path: str) -> None:
    """
    Bytes that were overwritten or are yet to come are an error, not something else.
    """
    ring = Ring(path, create=True)
    write(ring, stream(0, SIZE))

    with pytest.raises(RingLost, match="is not within"):
        ring.read(ring.oldest - 1, ring.written)
    with pytest.raises(RingLost, match="is not within"):
        ring.read(ring.oldest, ring.written + 1)
    ring.close()


def test_a_missing_file_is_lost(path: str) -> None:
    """
    The message has the path and what the system says.
    """
    with pytest.raises(RingLost, match=f"{path}: No such file"):
        Ring(path, create=False)


def test_a_file_of_another_size_is_lost(path: str) -> None:
    """
    A file that was cut is not mapped: beyond its end there would be a SIGBUS.
    """
    Ring(path, create=True).close()
    os.truncate(path, SIZE)

    with pytest.raises(RingLost, match="wrong size"):
        Ring(path, create=False)


def test_a_file_of_another_version_is_lost(path: str) -> None:
    """
    The message names both versions.
    """
    Ring(path, create=True).close()
    with open(path, "r+b") as file:
        file.write(struct.pack("<Q", 99))

    with pytest.raises(RingLost, match="version 99, not 1"):
        Ring(path, create=False)


def test_a_second_ring_is_not_made_over_the_first(path: str) -> None:
    """
    Creating where a ring is fails and leaves the ring alone.
    """
    ring = Ring(path, create=True)
    write(ring, b"kept")

    with pytest.raises(FileExistsError):
        Ring(path, create=True)

    assert ring.read(0, 4) == b"kept"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    ring.close()
