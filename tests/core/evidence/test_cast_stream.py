"""Output on its way into a recording: nothing is lost, moved or late, and no secret is in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.evidence.cast_stream import CastStream, Entry

GITHUB = "ghp_FakeFakeFakeFakeFakeFakeFakeFakeFake"


def text_of(entries: list[Entry]) -> str:
    """Return the output among some entries."""
    return "".join(one.text for one in entries if one.code == "o")


@given(st.lists(st.text(alphabet="ab \r\n\u4e2d", max_size=20)))
def test_every_byte_comes_out_once_with_its_time(pieces: list[str]) -> None:
    """
    Whatever borders the reads have, the text is the same and its times are those of the reads.
    """
    stream, entries = CastStream(), list[Entry]()
    for at, piece in enumerate(pieces):
        entries += stream.output(at, piece.encode())
    entries += stream.flush()

    assert text_of(entries) == "".join(pieces)
    for at, piece in enumerate(pieces):
        assert "".join(one.text for one in entries if one.at_ns == at) == piece


@given(st.binary(max_size=40), st.integers(min_value=1, max_value=5))
def test_characters_that_reads_cut_are_whole(data: bytes, size: int) -> None:
    """
    A character comes out when its last byte has come; bytes that are none are replaced.
    """
    stream, entries = CastStream(), list[Entry]()
    for at in range(0, len(data), size):
        entries += stream.output(at, data[at : at + size])
    entries += stream.output(99, b"\n")

    assert text_of(entries) == (data + b"\n").decode("utf-8", "replace")


def test_a_line_that_is_typed_slowly_keeps_its_times() -> None:
    """
    It comes out when it has ended, but each key with the time at which it was echoed.
    """
    stream = CastStream()
    assert [stream.output(1, b"l"), stream.output(2, b"s")] == [[], []]

    assert stream.output(3, b"\r\n") == [
        Entry(1, "o", "l"),
        Entry(2, "o", "s"),
        Entry(3, "o", "\r\n"),
    ]


def test_what_happens_within_a_line_stays_there() -> None:
    """
    A resize comes after what was written before it and before what was written after it.
    """
    stream = CastStream()
    stream.output(1, b"before")

    assert stream.other(Entry(2, "r", "100x30")) == []
    entries = stream.output(3, b" after\n")

    assert entries == [
        Entry(1, "o", "before"),
        Entry(2, "r", "100x30"),
        Entry(3, "o", " after\n"),
    ]


def test_what_happens_between_lines_does_not_wait() -> None:
    """
    Nothing is held back there.
    """
    stream = CastStream()
    stream.output(1, b"line\n")

    assert stream.other(Entry(2, "m", "mark")) == [Entry(2, "m", "mark")]


def test_a_secret_whose_line_was_shown_early_is_still_one() -> None:
    """
    The end of a segment in the middle of a secret does not give away the rest of it.
    """
    stream = CastStream()
    stream.output(1, b"export TOKEN=abc")

    early = stream.flush()
    late = stream.output(2, b"defghi\nnext\n")

    assert text_of(early) == "export TOKEN=***"
    assert text_of(late) == "******\nnext\n"


def test_a_look_at_what_is_pending_changes_nothing() -> None:
    """
    The same comes out later all the same.
    """
    stream = CastStream()
    stream.output(1, f"see {GITHUB[:20]}".encode())

    seen = text_of(stream.pending())
    whole = text_of(stream.output(2, f"{GITHUB[20:]}\n".encode()))

    assert seen.startswith("see ")
    assert len(whole) == len(f"see {GITHUB}\n")
    assert "Fake" not in whole
    assert stream.take_counts() == {"github_token": 1}


def test_a_line_of_many_pieces_takes_bounded_memory() -> None:
    """
    Half of its times are given up now and then; no byte is, and their order stays.
    """
    stream = CastStream()
    for at in range(20_000):
        stream.output(at, b".")

    waiting = stream.waiting
    entries = stream.output(20_000, b"\n")

    assert waiting <= 4097
    assert text_of(entries) == "." * 20_000 + "\n"
    assert [one.at_ns for one in entries] == sorted(one.at_ns for one in entries)
