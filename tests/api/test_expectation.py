"""What a screen should show, without a session."""

from __future__ import annotations

import re

from agent_pty.api.expectation import Expectation, framed

SCREEN = "$ make\nok  42 tests\n\n$ "


def test_everything_expected_must_be_visible() -> None:
    """
    Texts and patterns; each that is missing is named.
    """
    right = Expectation(visible=["make", re.compile(r"\d+ tests")])
    wrong = Expectation(visible=["make", "failed", re.compile("^err")])

    assert right.faults(SCREEN) == []
    assert wrong.faults(SCREEN) == [
        "not on the screen: 'failed'",
        "not on the screen: a match of '^err'",
    ]


def test_a_missing_text_is_compared_with_the_most_similar_line() -> None:
    """
    So that a small difference can be seen.
    """
    (fault,) = Expectation(visible=["ok  43 tests"]).faults(SCREEN)

    assert fault.split("\n")[1:] == ["- ok  43 tests", "?      ^", "+ ok  42 tests", "?      ^"]


def test_what_must_not_be_visible_is_named() -> None:
    """
    A text or a pattern.
    """
    assert Expectation(absent="nothing").faults(SCREEN) == []
    assert Expectation(absent=re.compile("mak.")).faults(SCREEN) == [
        "still on the screen: a match of 'mak.'"
    ]


def test_a_whole_screen_is_compared_line_by_line() -> None:
    """
    Blanks at the ends of lines, empty lines after the last one and indentation do not count.
    """
    right = """
        $ make
        ok  42 tests

        $
    """
    wrong = right.replace("42", "41")

    assert Expectation(equals=right).faults(SCREEN) == []
    (fault,) = Expectation(equals=wrong).faults(SCREEN)
    assert "- ok  41 tests\n" in fault
    assert "+ ok  42 tests\n" in fault


def test_a_screen_is_framed_by_cells() -> None:
    """
    A wide character takes two.
    """
    assert framed("中a\nb", 4) == "+----+\n|中a |\n|b   |\n+----+"
