"""The two ends of a long text."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.excerpt import MOST_BYTES, MOST_LINES, Ends, Excerpt


def ends(*pieces: str) -> Ends:
    """Return what is shown of a text that came in pieces."""
    excerpt = Excerpt()
    for piece in pieces:
        excerpt.feed(piece)
    return excerpt.ends()


def written_out(shown: str) -> str:
    """Put back the lines that a count stands for."""
    return re.sub(
        r"(?m)^([^\n]*\n)\[the line above stands here (\d+) times\]\n",
        lambda run: run[1] * int(run[2]),
        shown,
    )


def test_what_fits_is_whole() -> None:
    """
    Up to 2000 lines and 51200 bytes nothing is left out.
    """
    for text in ("", "a\nb\n" * (MOST_LINES // 2), "x" * MOST_BYTES):
        assert ends(text) == Ends(head=text)


def test_a_long_text_has_its_head_and_its_tail() -> None:
    """
    Of many lines the first 30 % of the room and the last 70 % are shown, and the rest is counted.
    """
    lines = [f"{number}\n" for number in range(10_000)]

    shown = ends(*lines)

    assert shown.head == "".join(lines[:600])
    assert shown.tail == "".join(lines[-1400:])
    assert shown.omitted_lines == 8000
    assert shown.omitted_bytes == len("".join(lines[600:-1400]))


def test_a_line_without_end_is_cut_between_characters() -> None:
    """
    A line that is longer than an answer is cut, and no character is.
    """
    shown = ends("\u20ac" * 100_000)

    assert set(shown.head + shown.tail) == {"\u20ac"}
    assert shown.omitted_bytes == 300_000 - len((shown.head + shown.tail).encode())


@given(st.lists(st.sampled_from(["x" * 900 + "\n", "\u20ac" * 40_000, "\n" * 700, "end"])))
def test_ends_are_never_larger_than_an_answer(pieces: list[str]) -> None:
    """
    Whatever comes, head and tail are ends of it and fit; the counts agree.
    """
    text = "".join(pieces)

    shown = ends(*pieces)

    assert len((shown.head + shown.tail).encode()) <= MOST_BYTES
    head, tail = written_out(shown.head), written_out(shown.tail)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len((head + tail).encode()) + shown.omitted_bytes == len(text.encode())
    assert (head + tail).count("\n") + shown.omitted_lines == text.count("\n")


def test_trial_01_identical_lines_are_counted_before_it_is_decided_what_fits() -> None:
    """
    A flood of one line leaves room for everything else; in whatever pieces it comes.
    """
    text = "begin\n" + "no answer\n" * 50_000 + "end\n"

    shown = ends(*(text[at : at + 7001] for at in range(0, len(text), 7001)))

    said = "begin\nno answer\n[the line above stands here 50000 times]\nend\n"
    assert shown == Ends(head=said)


def test_trial_01_few_identical_lines_stay_as_they_are() -> None:
    """
    A count is shown only where it is shorter than the lines it stands for.
    """
    text = "\n\n\ny\ny\ny\n" + "a line of some length\n" * 2

    assert ends(text) == Ends(head=text)


def test_trial_01_what_was_left_out_is_known_by_its_place() -> None:
    """
    The place counts bytes of the text, not of what is shown of it.
    """
    text = "again\n" * 1000 + "".join(f"{number}\n" for number in range(9000))

    shown = ends(text)

    data = text.encode()
    assert data[: shown.omitted_from].decode() == written_out(shown.head)
    assert data[shown.omitted_to :].decode() == written_out(shown.tail)
