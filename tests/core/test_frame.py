import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.frame import HEADER, LARGEST, Frame, FrameReader, Garbage, Kind, encoded

FRAMES = st.builds(
    Frame,
    kind=st.sampled_from(Kind),
    number=st.integers(0, 2**32 - 1),
    body=st.binary(max_size=50),
)


@given(frames=st.lists(FRAMES, max_size=5), cuts=st.lists(st.integers(0, 300), max_size=8))
def test_a_stream_may_be_cut_anywhere(frames: list[Frame], cuts: list[int]) -> None:
    """
    The frames are the same, however their bytes arrive.
    """
    data = b"".join(encoded(frame) for frame in frames)
    borders = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    reader = FrameReader()

    read = [
        frame
        for start, end in itertools.pairwise(borders)
        for frame in reader.feed(data[start:end])
    ]

    assert read == frames


def test_an_unfinished_frame_is_not_yet_one() -> None:
    """
    The last byte completes it, and not one before.
    """
    data = encoded(Frame(kind=Kind.REQUEST, number=7, body=b"body"))
    reader = FrameReader()

    assert [reader.feed(data[at : at + 1]) for at in range(len(data) - 1)] == [[]] * (len(data) - 1)
    assert reader.feed(data[-1:]) == [Frame(kind=Kind.REQUEST, number=7, body=b"body")]


@pytest.mark.parametrize("kind", [0, 200, 255])
def test_an_unknown_kind_is_garbage(kind: int) -> None:
    """
    The message names the kind.
    """
    with pytest.raises(Garbage, match=f"unknown kind {kind}"):
        FrameReader().feed(HEADER.pack(0, kind, 1))


def test_a_frame_beyond_measure_is_garbage_at_once() -> None:
    """
    Nobody waits for four gigabytes that a stranger's first bytes seem to announce.
    """
    with pytest.raises(Garbage, match=f"a frame of {LARGEST + 1} bytes"):
        FrameReader().feed(HEADER.pack(LARGEST + 1, Kind.REQUEST, 1))
    assert FrameReader().feed(HEADER.pack(LARGEST, Kind.REQUEST, 1)) == []


@given(data=st.binary(max_size=200))
def test_any_bytes_are_frames_or_garbage(data: bytes) -> None:
    """
    Nothing else can come of what a stranger sends.
    """
    try:
        frames = FrameReader().feed(data)
    except Garbage:
        return
    assert data.startswith(b"".join(encoded(frame) for frame in frames))


@pytest.mark.parametrize("text", [b"GET / HTTP/1.1\r\n", b'{"op":"list"}\n', b"\xff" * 16])
def test_other_protocols_are_garbage(text: bytes) -> None:
    """
    HTTP and JSON lines are told apart from ours by their first bytes.
    """
    with pytest.raises(Garbage):
        FrameReader().feed(text)
