from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.host.cells.output_range import INLINE, OutputRange
from agent_pty.store.textlog import LogPositions, TextLog

EVERYTHING = 1 << 60
TEXTS = st.text("ab é€𝄞\n", max_size=40)


def logged(text: bytes) -> TextLog:
    """Keep *text* in memory: it is never enough for a file."""
    log = TextLog("/nonexistent", keep=EVERYTHING)
    log.append(text)
    return log


def worn(directory: Path, text: bytes, *, lost: int) -> TextLog:
    """Return the log of *text* whose first bytes are no longer kept."""
    (directory / f"text.{lost}").write_bytes(text[lost:])
    positions = LogPositions(committed=len(text), first=lost)
    return TextLog(str(directory), keep=EVERYTHING, positions=positions)


@given(before=TEXTS, output=TEXTS, tail=TEXTS, after=TEXTS, limit=st.integers(4, 30))
def test_pages_add_up_to_the_output(
    before: str, output: str, tail: str, after: str, limit: int
) -> None:
    """
    A stretch of the transcript and then the tail: nothing of what stands around, no half character.
    """
    log = logged((before + output + after).encode())
    start = len(before.encode())
    whole = OutputRange(start=start, end=start + len(output.encode()), tail=tail.encode())

    pages = [whole.read(log, 0, limit)]
    while pages[-1].more:
        pages.append(whole.read(log, pages[-1].next, limit))

    assert "".join(page.text for page in pages) == output + tail
    assert all(len(page.text.encode()) <= limit and page.lost == 0 for page in pages)
    assert pages[-1].next == whole.size == len((output + tail).encode())


def test_a_page_ends_before_a_character_that_does_not_fit() -> None:
    """
    The next page begins with it; a border that falls between characters cuts nothing.
    """
    log = logged("a漢b".encode())
    output = OutputRange(start=0, end=5)

    first = output.read(log, 0, 3)
    second = output.read(log, first.next, 4)

    assert (first.text, first.next, first.more) == ("a", 1, True)
    assert (second.text, second.next, second.more) == ("漢b", 5, False)


def test_a_character_may_lie_across_the_tail() -> None:
    """
    The tail is bytes of the same line: its border is no border of a page.
    """
    output = OutputRange(start=0, end=2, tail=b"\xa2x")

    page = output.read(logged("漢".encode()[:2]), 0, 100)

    assert (page.text, page.next, page.more) == ("漢x", 4, False)


def test_half_a_character_at_the_very_end_is_shown() -> None:
    """
    Nothing follows that could complete it, so it does not keep the reader waiting.
    """
    page = OutputRange(start=0, end=0, tail=b"a\xe6\xbc").read(logged(b""), 0, 100)

    assert (page.text, page.next, page.more) == ("a\ufffd", 3, False)


@pytest.mark.parametrize("since", [5, 6, 10_000])
def test_behind_the_end_there_is_nothing(since: int) -> None:
    """
    Who asks on gets an empty page that is the last, and nothing is lost.
    """
    page = OutputRange(start=2, end=5, tail=b"de").read(logged(b"xxabcyyyy"), since, 100)

    assert (page.text, page.more, page.lost) == ("", False, 0)


@pytest.mark.parametrize(("since", "text"), [(0, "abcde"), (2, "cde"), (3, "de"), (4, "e")])
def test_a_page_begins_anywhere(since: int, text: str) -> None:
    """
    In the stretch, at its end, or in the tail.
    """
    page = OutputRange(start=2, end=5, tail=b"de").read(logged(b"xxabcyyyy"), since, 100)

    assert (page.text, page.next, page.more) == (text, 5, False)


@pytest.mark.parametrize("output", [OutputRange(start=7, end=7), OutputRange(start=0, end=0)])
def test_no_output_is_an_empty_page(output: OutputRange) -> None:
    """
    A command that wrote nothing has all of it on the first page.
    """
    log = logged(b"xxxxxxx")

    assert output.size == 0
    assert output.inline(log) == ("", False)
    assert not output.read(log, 0, 4).more


@pytest.mark.parametrize(
    ("count", "text"), [(0, "abcde"), (2, "cde"), (3, "de"), (4, "e"), (5, ""), (9, "")]
)
def test_trial_18_what_follows_is_a_range_as_well(count: int, text: str) -> None:
    """
    It begins in the stretch, at its end or in the tail, and after all of it there is nothing.
    """
    rest = OutputRange(start=2, end=5, tail=b"de").after(count)

    assert rest.size == len(text)
    assert rest.inline(logged(b"xxabcyyyy")) == (text, False)


# -- what is no longer kept


def test_lost_text_is_counted(tmp_path: Path) -> None:
    """
    The page begins with what is left, says how much is missing before it and where to go on.
    """
    log = worn(tmp_path, b"xx0123456789\n", lost=6)
    output = OutputRange(start=2, end=12, tail=b"!")

    first = output.read(log, 0, 4)
    second = output.read(log, first.next, 100)

    assert (first.text, first.lost, first.next, first.more) == ("4567", 4, 8, True)
    assert (second.text, second.lost, second.more) == ("89!", 0, False)


def test_only_what_was_asked_for_is_missed(tmp_path: Path) -> None:
    """
    Who begins in the middle of what is gone lost only the rest of it.
    """
    log = worn(tmp_path, b"0123456789", lost=6)

    page = OutputRange(start=0, end=10).read(log, 4, 100)

    assert (page.text, page.lost) == ("6789", 2)


def test_an_output_that_is_gone_has_its_tail_left(tmp_path: Path) -> None:
    """
    The tail is kept with the result; text after the output is not taken for it.
    """
    log = worn(tmp_path, b"0123456789", lost=8)

    page = OutputRange(start=0, end=5, tail=b"tail").read(log, 0, 100)

    assert (page.text, page.lost, page.next, page.more) == ("tail", 5, 9, False)


# -- all of it at once


@pytest.mark.parametrize("tail", [0, 1, 1000, INLINE])
def test_up_to_the_limit_all_is_given(tmp_path: Path, tail: int) -> None:
    """
    Sixty-four kilobytes are one answer, wherever they lie.
    """
    log = TextLog(str(tmp_path), keep=EVERYTHING)
    log.append(b"a" * (INLINE - tail))
    output = OutputRange(start=0, end=INLINE - tail, tail=b"b" * tail)

    assert output.inline(log) == ("a" * (INLINE - tail) + "b" * tail, False)


def parted(told: str) -> tuple[str, int, str]:
    """Take a shortened output apart: beginning, how much was left out, end."""
    head, note = told.split("\n[... ", 1)
    count, tail = note.split(" bytes left out ...]\n", 1)
    return head, int(count), tail


@pytest.mark.parametrize("more", [1, 100_000])
def test_beyond_the_limit_beginning_and_end_are_given(tmp_path: Path, more: int) -> None:
    """
    Between them stands how much was left out: together they are the output's size.
    """
    log = TextLog(str(tmp_path), keep=EVERYTHING)
    log.append(b"first " + b"x" * (INLINE + more - 11) + b" last")

    text, truncated = OutputRange(start=0, end=INLINE + more).inline(log)

    head, missing, tail = parted(text)
    assert truncated
    assert head.startswith("first ")
    assert tail.endswith(" last")
    assert len(head) + missing + len(tail) == INLINE + more


def shortened(directory: Path, whole: str) -> tuple[str, int, str]:
    """Take apart what is given of a large output."""
    log = TextLog(str(directory), keep=EVERYTHING)
    log.append(whole.encode())
    text, truncated = OutputRange(start=0, end=len(whole.encode())).inline(log)
    assert truncated
    return parted(text)


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("last", range(4))
def test_a_shortened_output_has_whole_characters(tmp_path: Path, first: int, last: int) -> None:
    """
    Wherever the two cuts fall, no character is halved and little more than needed is left out.
    """
    whole = "x" * first + "𝄞" * INLINE + "x" * last

    head, _, tail = shortened(tmp_path, whole)

    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len((head + tail).encode()) > INLINE - 8


def test_what_was_left_out_is_counted_exactly(tmp_path: Path) -> None:
    """
    Half a character that was cut off is left out like everything between.
    """
    whole = "𝄞" * INLINE + "x"

    head, missing, tail = shortened(tmp_path, whole)

    assert len(head.encode()) + missing + len(tail.encode()) == INLINE * 4 + 1


def test_a_small_output_that_is_gone_in_part_says_so(tmp_path: Path) -> None:
    """
    What is left is not all of it, and whoever reads it must not believe so.
    """
    log = worn(tmp_path, b"0123456789", lost=6)

    _, truncated = OutputRange(start=0, end=10).inline(log)

    assert truncated


def test_a_large_output_that_is_gone_in_part_is_given_once(tmp_path: Path) -> None:
    """
    Of an output of which only the end is left, that is given, and all the rest is left out.
    """
    log = worn(tmp_path, b"x" * 90_000 + b"y" * 10_000, lost=90_000)

    text, truncated = OutputRange(start=0, end=100_000).inline(log)

    head, missing, tail = parted(text)
    assert truncated
    assert (len(head + tail), missing) == (10_000, 90_000)
