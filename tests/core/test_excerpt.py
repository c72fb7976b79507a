"""The two ends of a long text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.excerpt import MOST_BYTES, MOST_LINES, Ends, Excerpt


def ends(*pieces: str) -> Ends:
    """Return what is shown of a text that came in pieces."""
    excerpt = Excerpt()
    for piece in pieces:
        excerpt.feed(piece)
    return excerpt.ends()


def test_what_fits_is_whole() -> None:
    """
    Up to 2000 lines and 51200 bytes nothing is left out.
    """
    for text in ("", "a\n" * MOST_LINES, "x" * MOST_BYTES):
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

    assert text.startswith(shown.head)
    assert text.endswith(shown.tail)
    size = len((shown.head + shown.tail).encode())
    assert size <= MOST_BYTES
    assert size + shown.omitted_bytes == len(text.encode())
    assert (shown.head + shown.tail).count("\n") + shown.omitted_lines == text.count("\n")
