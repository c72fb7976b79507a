from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_pty.core.mark import Kind, Mark, MarkScanner, pieces

NONCE = "5eed"
BEL, ST = b"\x07", b"\x1b\\"

Found = list[tuple[int, Mark]]


def sent(kind: Kind, number: int | None = None, code: str | None = None, end: bytes = BEL) -> bytes:
    """Write a mark as a program does."""
    status = "" if code is None else f";{code}"
    counted = "" if number is None else f".{number}"
    return f"\x1b]133;{kind}{status};apty={NONCE}{counted}".encode() + end


def mark(kind: Kind, number: int | None = None, code: int | None = None) -> Mark:
    """Name the mark that is meant."""
    return Mark(kind=kind, number=number, code=code)


def seen(*data: bytes) -> list[Mark]:
    """Feed a new scanner; return the marks it sees."""
    scanner = MarkScanner(NONCE)
    return [found for one in data for _, found in scanner.feed(one)]


OURS = st.builds(
    sent,
    st.sampled_from(("B", "C", "D", "P")),
    st.none() | st.integers(1, 3),
    st.sampled_from((None, "", "0", "127")),
    st.sampled_from((BEL, ST)),
)
# Other people's marks, other sequences, halves of ours, and what is none of these.
OTHERS = st.sampled_from(
    (
        b"\x1b]133;A\x07",
        b"\x1b]133;D;1\x1b\\",
        b"\x1b]133;B;apty=f00d\x07",
        b"\x1b]133;D;0;apty=f00d.9\x1b\\",
        b"\x1b]133;B;apty=5eed",
        b"\x1b]133;B;apty=5eed.1x\x07",
        b"\x1b]133;" + b"x" * 200,
        b"\x1b]133;",
        b"\x1b]0;title\x07",
        b"\x1b]8;;http://a\x1b\\",
        b"\x1b[31m",
        b"\x1b",
        b"\x07",
        b"\\",
        b"]133;B;apty=5eed\x07",
        b"text\r\n",
        b"x" * 200,
        b"",
    )
)
STREAMS = st.lists(OURS | OTHERS, max_size=8).map(b"".join)


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    """Split *data* at the cuts that lie in it."""
    borders = sorted({0, len(data), *(place for place in cuts if place < len(data))})
    return [data[start:end] for start, end in pairwise(borders)]


def absolute(parts: list[bytes], *, handed_on: bool) -> Found:
    """Scan part by part; each part may have its own scanner that goes on for the last."""
    found: Found = []
    scanner, place = MarkScanner(NONCE), 0
    for part in parts:
        if handed_on:
            before, scanner = scanner, MarkScanner(NONCE)
            scanner.resume(before.state)
        found += [(place + offset, one) for offset, one in scanner.feed(part)]
        place += len(part)
    return found


@given(data=STREAMS, cuts=st.lists(st.integers(0, 400), max_size=12))
@example(data=b"\x1b" * 3 + sent("B") + b"\x1b", cuts=[])
def test_a_split_changes_nothing(data: bytes, cuts: list[int]) -> None:
    """
    However the stream is split, whoever goes on there finds the same marks at the same places.
    """
    whole = MarkScanner(NONCE).feed(data)

    # In two at every sign that matters, at random, and byte by byte.
    signs = [place for place in range(1, len(data)) if data[place - 1] in b"\x1b\x07\\]"]
    for borders in (*([place] for place in signs), cuts, list(range(len(data)))):
        assert absolute(cut(data, borders), handed_on=False) == whole
        assert absolute(cut(data, borders), handed_on=True) == whole


@given(data=STREAMS)
def test_a_mark_is_told_right_behind_itself(data: bytes) -> None:
    """
    The offset is the first byte after the mark, and places only grow.
    """
    found = MarkScanner(NONCE).feed(data)

    offsets = [offset for offset, _ in found]
    assert offsets == sorted(set(offsets))
    for offset, one in found:
        start = data[:offset].rindex(b"\x1b]133;")
        assert data[start:].startswith(f"\x1b]133;{one.kind}".encode())
        assert data[:offset].endswith((BEL, ST))


@given(data=STREAMS)
def test_pieces_are_the_data(data: bytes) -> None:
    """
    Each piece ends behind its mark, only the last has none, and together they are the data.
    """
    marks = MarkScanner(NONCE).feed(data)

    found = list(pieces(data, marks))

    assert b"".join(piece for piece, _ in found) == data
    assert [one for _, one in found if one is not None] == [one for _, one in marks]
    assert all(one is not None for _, one in found[:-1])
    assert all(piece for piece, _ in found)


@pytest.mark.parametrize("end", [BEL, ST])
@pytest.mark.parametrize(
    ("code", "known"), [(None, None), ("", None), ("0", 0), ("1", 1), ("4294967295", 4294967295)]
)
def test_a_mark_says_how_a_command_ended(end: bytes, code: str | None, known: int | None) -> None:
    """
    The status is a number, or nothing where the program does not know one.
    """
    assert seen(sent("D", 1, code, end)) == [mark("D", 1, known)]


@pytest.mark.parametrize(
    "foreign",
    [
        b"\x1b]133;B\x07",
        b"\x1b]133;D;0\x07",
        b"\x1b]133;B;apty=\x07",
        b"\x1b]133;B;apty=f00d\x07",
        b"\x1b]133;B;apty=5eed5\x07",
        b"\x1b]133;B;apty=x5eed\x07",
        b"\x1b]133;B;apty=5EED\x07",
        b"\x1b]133;A;apty=5eed\x07",
        b"\x1b]133;D;-1;apty=5eed\x07",
        b"\x1b]133;B;apty=5eed;x=1\x07",
        b"\x1b]133;B;apty=5eed.\x07",
        b"\x1b]1337;B;apty=5eed\x07",
        b"]133;B;apty=5eed\x07",
        b"\x1b]133;B;apty=5eed\x1b[m\x07",
        b"\x1b]133;B;apty=5eed\n\x07",
    ],
)
def test_a_mark_that_is_not_ours_is_not_seen(foreign: bytes) -> None:
    """
    Without the very nonce, or in any other shape, it is somebody else's; ours behind it is found.
    """
    assert seen(foreign) == []
    assert seen(foreign + sent("B")) == [mark("B")]


def test_a_mark_begun_and_dropped_is_no_mark() -> None:
    """
    What is begun and never ended does not keep the next mark from being seen, however long.
    """
    assert seen(b"\x1b]133;B;apty=", sent("C")) == [mark("C")]
    assert seen(b"\x1b]133;B;", b"x" * 100, b"x" * 100, sent("C")) == [mark("C")]


def test_a_scanner_holds_only_what_may_become_a_mark() -> None:
    """
    Text and other sequences are not held, and of one that never ends not more than a mark has.
    """
    scanner = MarkScanner(NONCE)

    held = []
    for data in (b"text", b"\x1b[31m", b"\x1b", b"]0;title", b"\x1b]133;", b"B;" + b"x" * 9999):
        scanner.feed(data)
        held.append(scanner.state.begun)

    assert held == [b"", b"", b"\x1b", b"", b"\x1b]133;", b""]


def test_an_old_mark_is_ignored() -> None:
    """
    A recording shown again brings back numbers that have been: none of its marks counts.
    """
    recorded = sent("D", 1) + sent("B", 1) + sent("C", 1) + sent("D", 2, "0") + sent("B", 2)

    assert seen(recorded, recorded) == [
        mark("D", 1),
        mark("B", 1),
        mark("C", 1),
        mark("D", 2, 0),
        mark("B", 2),
        # Of the copy only what belongs to the present prompt is as good as new.
        mark("B", 2),
    ]
    assert seen(recorded, sent("C", 2), sent("D", 3), recorded)[5:] == [mark("C", 2), mark("D", 3)]


@pytest.mark.parametrize("kind", ["B", "C", "P"])
def test_a_mark_of_another_prompt_is_ignored(kind: Kind) -> None:
    """
    What a prompt sends carries its number: neither an older nor a later one, nor one before any.
    """
    assert seen(sent(kind, 1)) == []
    assert seen(sent("D", 5), sent(kind, 4), sent(kind, 6)) == [mark("D", 5)]
    assert seen(sent("D", 5), sent(kind, 5)) == [mark("D", 5), mark(kind, 5)]


def test_numbers_may_be_left_out() -> None:
    """
    A program may skip numbers: later is later.
    """
    assert seen(sent("D", 1), sent("D", 7), sent("D", 6)) == [mark("D", 1), mark("D", 7)]


@pytest.mark.parametrize("kind", ["B", "C", "D", "P"])
def test_a_mark_without_a_number_always_counts(kind: Kind) -> None:
    """
    A program with a fixed prompt cannot count, so its marks are believed, also beside numbers.
    """
    assert seen(sent(kind), sent("D", 3), sent(kind), sent(kind)) == [
        mark(kind),
        mark("D", 3),
        mark(kind),
        mark(kind),
    ]


def test_numbers_survive_a_hand_over() -> None:
    """
    A scanner that goes on for another knows what was shown before: old marks stay old.
    """
    first, second = MarkScanner(NONCE), MarkScanner(NONCE)
    first.feed(sent("D", 4) + b"\x1b]133;B;ap")

    second.resume(first.state)

    assert second.feed(b"ty=5eed.4\x07") == [(10, mark("B", 4))]
    assert second.feed(sent("D", 4) + sent("C", 3)) == []


@pytest.mark.parametrize("nonce", ["", " ", "a b", "a.b", "a;b", "5eed\x07", "-", "a\n"])
def test_a_nonce_is_letters_and_digits(nonce: str) -> None:
    """
    Anything else would be read as part of the mark, and none at all as everybody's.
    """
    with pytest.raises(ValueError, match="letters and digits"):
        MarkScanner(nonce)


def token_mark(kind: Kind, token: str) -> bytes:
    """Write a mark that carries the token of a prompt."""
    return f"\x1b]133;{kind};apty={token}\x07".encode()


def announced(number: int, token: str) -> bytes:
    """Announce the token of a new prompt."""
    return f"\x1b]133;D;0;apty={NONCE}.{number}.{token}\x07".encode()


def test_an_unknown_token_after_lost_output_is_not_forged() -> None:
    """
    It may have been announced in what was lost; after the next prompt tokens are known again.
    """
    scanner = MarkScanner(NONCE)
    scanner.feed(announced(1, "old"))
    scanner.miss()

    unknown = scanner.feed(token_mark("B", "missed") + token_mark("C", "missed"))
    before = scanner.take_forged()
    scanner.feed(announced(7, "new") + token_mark("B", "wrong"))

    assert unknown == []
    assert (before, scanner.take_forged()) == (0, 1)


def test_only_tokens_are_excused_after_lost_output() -> None:
    """
    The end of a command carries the nonce, which does not change: a wrong one is forged.
    """
    scanner = MarkScanner(NONCE)
    scanner.miss()

    scanner.feed(b"\x1b]133;D;0;apty=wrong.2.token\x07")

    assert scanner.take_forged() == 1


def test_lost_output_is_remembered_by_the_next_scanner() -> None:
    """
    Another host excuses the same tokens.
    """
    first, second = MarkScanner(NONCE), MarkScanner(NONCE)
    first.miss()

    second.resume(first.state)
    second.feed(token_mark("C", "missed"))

    assert second.missed
    assert second.take_forged() == 0
