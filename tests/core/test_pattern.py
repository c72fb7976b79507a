import time

import pytest

from agent_pty.core.pattern import compiled
from agent_pty.errors import BadRequest


def test_a_search_answers_with_what_it_found() -> None:
    """
    The matching text, anywhere in the text; None if there is none.
    """
    search = compiled(r"exit code \d+")

    assert search("done, exit code 42.\n") == "exit code 42"
    assert search("done\n") is None


def test_characters_are_not_bytes() -> None:
    """
    A dot is one character, whatever it takes to encode it.
    """
    assert compiled("^<.>$")("<é>") == "<é>"
    assert compiled("(?i)ÄRGER")("ärger") == "ärger"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("^error.*", "error: two"),
        ("zed$", "zed"),
        ("^[a-z]+ zed$", "a zed"),
        (r"^b\nerror", "b\nerror"),
        (r"\Aerror", None),
        (r"b\z", None),
        ("(?-m)^error", None),
    ],
)
def test_trial_11_patterns_are_per_line(pattern: str, found: str | None) -> None:
    r"""
    `^` and `$` match at the borders of every line; `\A` and `\z` at those of the text.
    """
    assert compiled(pattern)("a zed\nb\nerror: two\n") == found


@pytest.mark.parametrize(
    ("pattern", "before", "after", "found"),
    [
        ("^error", "", "", "error"),
        ("^error", "x", "", None),
        ("here$", "", "x", None),
        ("^second$", "x", "x", "second"),
        (r"\berror", "x", "", None),
        (r"\berror", "漢", "", "error"),
        ("e.*", "x", "y", "error"),
    ],
)
def test_trial_11_the_border_of_an_excerpt_is_no_border_of_a_line(
    pattern: str, before: str, after: str, found: str | None
) -> None:
    """
    Where a text was cut within a line, `^` and `$` do not match, and nothing outside is found.
    """
    search = compiled(pattern)

    assert search("error\nsecond\nhere", before=before, after=after) == found


def test_an_empty_match_is_a_match() -> None:
    """
    A pattern that matches nothing at all has found something: the empty text.
    """
    assert compiled("")("anything") == ""
    assert compiled("(?m)^$")("a\n\nb") == ""


@pytest.mark.serial
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(a+)+$", "a" * 100_000 + "b"),
        (r"(a|a)*c", "a" * 100_000),
        (r"(x+x+)+y", "x" * 100_000),
        (r".*.*.*=", "-" * 100_000),
    ],
)
def test_no_pattern_takes_for_ever(pattern: str, text: str) -> None:
    """
    What blows up in a backtracking engine takes time in proportion to the text.
    """
    search = compiled(pattern)
    begin = time.process_time()

    assert search(text) is None

    assert time.process_time() - begin < 2.0


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?<=a)b", r"compile wait regex '\(\?<=a\)b': .*\(\?<"),
        ("(?=a)b", r"\(\?="),
        (r"(a)\1", "invalid escape sequence"),
        ("[", r"missing \]"),
        ("(", r"missing \)"),
        ("*", "no argument for repetition"),
        ("((a{1000}){1000}){1000}", "repetition"),
        (r"(?:(?:\pL{50}){50}){50}", "repetition|too large"),
    ],
)
def test_what_is_wrong_with_a_pattern_is_said(pattern: str, reason: str) -> None:
    """
    The message has the pattern and the reason, also for what only other engines know.
    """
    with pytest.raises(BadRequest, match=reason) as caught:
        compiled(pattern)

    assert caught.value.details == {"pattern": pattern}


def test_a_pattern_has_a_length() -> None:
    """
    One of 100 kB is refused before anybody tries to understand it.
    """
    with pytest.raises(BadRequest, match="a pattern of 100000 characters; at most 4096"):
        compiled("x" * 100_000)

    assert compiled("x" * 4096)("x" * 4096) == "x" * 4096
