"""A snapshot is the whole terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.emulator import Emulator, TitleChanged
from agent_pty.errors import Busy


def fed(data: bytes) -> Emulator:
    """Return a small emulator that has read *data*."""
    emulator = Emulator(rows=5, cols=20)
    emulator.feed(data)
    return emulator


def seen(emulator: Emulator) -> tuple[object, ...]:
    """Return what a snapshot must keep."""
    return (
        emulator.lines(),
        emulator.styled(),
        emulator.cursor,
        emulator.modes(),
        emulator.title,
        emulator.cwd,
        emulator.alternate,
        emulator.format("plain", scrollback=True),
        (emulator.rows, emulator.cols),
    )


STREAM = (
    b"".join(b"line %d\r\n" % number for number in range(30))
    + "\x1b[1;31mré日\x1b[0m \x1b]8;;http://a/\x07link\x1b]8;;\x07".encode()
    + b"\x1b]2;title\x07\x1b]7;file:///tmp\x07\x1b[?2004h\x1b[?1002h\x1b[2;4r\x1b7"
    + b"\x1b[?1049h\x1b[2;2Hfull screen\x1b[>1u\x1b[4 q\x1b[?25l\x1b[48;2;1;2;3m"
)
REST = b"\x1b[0mmore\x1b[?1049l\x1b8after\x1b[?25h\r\n"


@given(st.integers(0, len(STREAM)))
def test_a_restored_emulator_goes_on_as_the_first_would(cut: int) -> None:
    """
    Wherever the stream is interrupted, also inside a sequence, the copy ends the same.
    """
    original = fed(STREAM[:cut])

    copy = Emulator.restore(original.snapshot())
    at_once = seen(copy), seen(original)
    for emulator in (original, copy):
        emulator.feed(STREAM[cut:])
    before_rest = seen(copy), seen(original)
    for emulator in (original, copy):
        emulator.feed(REST)

    assert at_once[0] == at_once[1]
    assert before_rest[0] == before_rest[1]
    assert seen(copy) == seen(original)


def test_a_restored_emulator_still_answers_and_tells() -> None:
    """
    Replies, events and the next snapshot work in the copy.
    """
    copy = Emulator.restore(fed(b"\x1b]2;ti").snapshot())

    copy.feed(b"tle\x07\x1b[c\x1b]11;?\x07\x1b[21t\x1b[3")
    again = Emulator.restore(copy.snapshot())
    again.feed(b"1mx")

    assert copy.take_events() == [TitleChanged(title="title")]
    assert copy.take_replies() == b"\x1b[?62;22c\x1b]11;rgb:0000/0000/0000\x07"
    assert again.styled()[0][0].style.fg == 1


def test_what_is_no_snapshot_is_refused() -> None:
    """
    Nothing, noise, half a snapshot and one with more behind it are all a ValueError.
    """
    good = fed(STREAM).snapshot()

    for bad in (b"", b"noise", good[: len(good) // 2], good[:-1], good + b"x"):
        with pytest.raises(ValueError, match="no snapshot"):
            Emulator.restore(bad)


@pytest.mark.parametrize("at", range(0, 600, 7))
def test_a_damaged_snapshot_is_refused_or_harmless(at: int) -> None:
    """
    One wrong byte never crashes the process.
    """
    damaged = bytearray(fed(STREAM).snapshot())
    damaged[at] ^= 0xFF

    try:
        emulator = Emulator.restore(bytes(damaged))
    except ValueError:
        return
    emulator.feed(REST)

    assert len(emulator.lines()) == emulator.rows


def test_a_sequence_too_long_to_keep_is_said_to_be() -> None:
    """
    Inside a megabytes-long sequence there is no snapshot; after it there is one again.
    """
    emulator = fed(b"\x1b]52;c;" + b"A" * 3_000_000)

    with pytest.raises(Busy, match="too long"):
        emulator.snapshot()
    emulator.feed(b"\x07ok")

    assert Emulator.restore(emulator.snapshot()).text() == "ok"
