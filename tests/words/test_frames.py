"""Frames between the script and the command line that the daemon carries out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.frame import Garbage
from agent_pty.words.frames import CallerFrames, FromCaller, ToCaller, frame

LARGEST = 1024 * 1024
FRAMES = st.tuples(st.sampled_from(FromCaller), st.binary(max_size=50))


@pytest.mark.parametrize(
    ("kind", "payload", "data"),
    [
        (ToCaller.OUT, b"hi", b"\x01\x00\x00\x00\x02hi"),
        (ToCaller.STATUS, b"130", b"\x03\x00\x00\x00\x03130"),
        (ToCaller.FULL, b"", b"\x06\x00\x00\x00\x00"),
        (FromCaller.DATA, b"x" * 258, b"\x02\x00\x00\x01\x02" + b"x" * 258),
    ],
)
def test_a_frame_is_its_kind_its_length_and_its_payload(
    kind: int, payload: bytes, data: bytes
) -> None:
    """
    One byte of kind and four bytes of length, the largest first, stand before the payload.
    """
    assert frame(kind, payload) == data


def test_the_numbers_of_the_kinds_are_fixed() -> None:
    """
    The script has the same numbers in it, so a change of one would break it.
    """
    to_caller = {kind.name: kind.value for kind in ToCaller}
    from_caller = {kind.name: kind.value for kind in FromCaller}

    assert to_caller == {
        "OUT": 1,
        "ERR": 2,
        "STATUS": 3,
        "SEND": 4,
        "WRITE": 5,
        "FULL": 6,
        "BOOKMARK": 7,
        "ALIVE": 8,
    }
    assert from_caller == {"INTERRUPT": 1, "DATA": 2, "END": 3, "FAILED": 4}


@given(frames=st.lists(FRAMES, max_size=5), cuts=st.lists(st.integers(0, 300), max_size=8))
def test_frames_may_be_split_anywhere(
    frames: list[tuple[FromCaller, bytes]], cuts: list[int]
) -> None:
    """
    The frames are the same, however their bytes arrive.
    """
    data = b"".join(frame(kind, payload) for kind, payload in frames)
    borders = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    reader = CallerFrames()

    read = [
        one for start, end in itertools.pairwise(borders) for one in reader.feed(data[start:end])
    ]

    assert read == frames


def test_an_unfinished_frame_is_not_yet_one() -> None:
    """
    The last byte completes a frame, and no byte before it.
    """
    data = frame(FromCaller.FAILED, b"no such file")
    reader = CallerFrames()

    before = [reader.feed(data[at : at + 1]) for at in range(len(data) - 1)]

    assert before == [[]] * (len(data) - 1)
    assert reader.feed(data[-1:]) == [(FromCaller.FAILED, b"no such file")]


@pytest.mark.parametrize("kind", [0, 5, 255])
def test_an_unknown_kind_is_garbage(kind: int) -> None:
    """
    The error names the kind, and frames before it do not help.
    """
    data = frame(FromCaller.END) + frame(kind, b"x")

    with pytest.raises(Garbage, match=f"unknown kind {kind}"):
        CallerFrames().feed(data)


def test_a_frame_that_is_too_large_is_garbage_at_once() -> None:
    """
    A length above the limit is refused before its payload comes; the limit itself is allowed.
    """
    largest = frame(FromCaller.DATA, bytes(LARGEST))

    with pytest.raises(Garbage, match=f"a frame of {LARGEST + 1} bytes"):
        CallerFrames().feed(b"\x02" + (LARGEST + 1).to_bytes(4, "big"))

    assert CallerFrames().feed(largest) == [(FromCaller.DATA, bytes(LARGEST))]


@given(data=st.binary(max_size=200))
def test_any_bytes_are_frames_or_garbage(data: bytes) -> None:
    """
    Bytes of a stranger give frames that were really in them, or an error.
    """
    try:
        frames = CallerFrames().feed(data)
    except Garbage:
        return

    assert data.startswith(b"".join(frame(kind, payload) for kind, payload in frames))
