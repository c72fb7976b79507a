from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_pty.core.budget import fitted, tokens

TEXT = "".join(f"line {number}\n" for number in range(100))


def test_tokens_are_rather_too_many() -> None:
    """
    Three bytes are a token, and a part of three too.
    """
    assert [tokens("a" * length) for length in (0, 1, 3, 4)] == [0, 1, 1, 2]
    assert tokens("\u4e2d") == 1


def test_what_fits_stays_as_it_is() -> None:
    """
    Within the budget nothing is cut and nothing said.
    """
    assert fitted(TEXT, tokens(TEXT), keep="tail", pointer="ask") == TEXT


def test_the_tail_is_kept_behind_the_note() -> None:
    """
    RunToEnd lines of the end are kept; the note says how many are missing and where they are.
    """
    note, *kept = fitted(TEXT, 40, keep="tail", pointer="ask {me}").splitlines()

    assert note == f"[{100 - len(kept)} lines cut to fit 40 tokens; ask {{me}}]"
    assert kept == TEXT.splitlines()[-len(kept) :]
    assert kept


def test_the_head_is_kept_before_the_note() -> None:
    """
    RunToEnd lines of the beginning are kept, the note comes last.
    """
    *kept, note = fitted(TEXT, 40, keep="head", pointer="ask").splitlines()

    assert note.endswith("lines cut to fit 40 tokens; ask]")
    assert kept == TEXT.splitlines()[: len(kept)]


def test_a_line_that_does_not_fit_is_not_cut_in_two() -> None:
    """
    If not even one line fits, there is only the note.
    """
    assert fitted("x" * 1000, 20, keep="tail", pointer="ask") == (
        "[1 lines cut to fit 20 tokens; ask]\n"
    )


@settings(deadline=None)
@given(
    lines=st.lists(st.text("ab\u4e2d\U0001f600 ", max_size=30), max_size=60),
    budget=st.integers(16, 200),
)
def test_the_budget_is_kept(lines: list[str], budget: int) -> None:
    """
    Where the note fits, the whole fits, whatever the text.
    """
    for keep in ("head", "tail"):
        text = fitted("\n".join(lines), budget, keep=keep, pointer="ask")

        assert tokens(text) <= budget
