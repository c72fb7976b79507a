"""What is left of a text that must fit: its two ends, the last line always, and a true count."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_pty.core.budget import Ends, fitted, printed_size, tokens

TEXT = "".join(f"line {number}\n" for number in range(100))


def test_tokens_are_rather_too_many() -> None:
    """
    Three bytes are a token, and a part of three too.
    """
    assert [tokens("a" * length) for length in (0, 1, 3, 4)] == [0, 1, 1, 2]
    assert tokens("\u4e2d") == 1


def test_bytes_are_counted_as_in_json() -> None:
    """
    What JSON writes as two characters or six counts as that.
    """
    assert [printed_size(text) for text in ("a", "\n", '"', "\u4e2d", "\x1b", "")] == [
        *(1, 2, 2, 3, 6, 0)
    ]


def test_what_fits_stays_as_it_is() -> None:
    """
    Within the budget nothing is cut and nothing said.
    """
    same = fitted(TEXT, printed_size(TEXT), rest="ask")

    assert (same.text, same.left_out) == (TEXT, None)


def test_trial_19_both_ends_are_kept_around_the_note() -> None:
    """
    Whole lines of beginning and end are kept; the note says how many are missing and where.
    """
    got = fitted(TEXT, 200, rest="ask {me}")
    lines = got.text.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("[..."))

    assert lines[at] == f"[... {got.left_out} lines left out; ask {{me}} ...]"
    assert lines[:at] == TEXT.splitlines()[:at]
    assert lines[at + 1 :] == TEXT.splitlines()[100 - len(lines[at + 1 :]) :]
    assert got.left_out == 100 - (len(lines) - 1)
    assert at
    assert lines[-1] == "line 99"


def test_trial_19_the_place_of_the_rest_gives_way_to_the_text() -> None:
    """
    Where the place of the rest would take most of the space, it is given beside the text.
    """
    got = fitted(TEXT, 60, rest="a long name of a file in a long directory")

    assert "left out ...]" in got.text
    assert got.text.endswith("line 99\n")
    assert got.rest == "a long name of a file in a long directory"


def test_trial_19_the_last_line_is_always_kept() -> None:
    """
    Of a last line that is too long, its end is kept; what is missing is counted in bytes.
    """
    got = fitted("begin " + "x" * 1000 + " end", 100, rest="ask")

    assert got.text.startswith("begin xxx")
    assert got.text.endswith("xxx end")
    assert " bytes left out; ask ...]\n" in got.text
    assert got.left_out == 0
    assert printed_size(got.text) <= 100
    assert fitted(TEXT, 24, rest="ask").text.endswith("99\n")


@settings(deadline=None)
@given(
    lines=st.lists(st.text('ab\u4e2d\U0001f600 "\x1b', max_size=30), max_size=60),
    budget=st.integers(48, 600),
    step=st.integers(1, 100),
)
def test_the_budget_is_kept(lines: list[str], budget: int, step: int) -> None:
    """
    Where the note fits, the whole fits, whatever the text; it does not matter how it is split.
    """
    text = "\n".join(lines)
    ends = Ends(budget)
    for start in range(0, len(text), step):
        ends.feed(text[start : start + step])

    got = fitted(text, budget, rest="ask")

    assert printed_size(got.text) <= budget
    assert len(json.dumps(got.text, ensure_ascii=False).encode()) <= budget + 2
    assert ends.text == (text if got.left_out is None else None)
    if got.left_out is not None:
        cut = ends.cut(rest=3)
        assert text.startswith(cut.beginning)
        assert text.endswith(cut.end)
        between = text[len(cut.beginning) : len(text) - len(cut.end)]
        assert (cut.lines, cut.missing) == (between.count("\n"), len(between.encode()))
