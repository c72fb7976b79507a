import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.duration import long_seconds, seconds
from agent_pty.errors import BadRequest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0.0),
        ("0ms", 0.0),
        ("250ms", 0.25),
        ("2s", 2.0),
        ("2m", 120.0),
        ("30", 30.0),
        (" 5s ", 5.0),
        ("007", 7.0),
        ("999999999999", 999_999_999_999.0),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, expected: float) -> None:
    """
    Milliseconds, seconds or minutes; a bare number is seconds.
    """
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    ["", " ", "s", "1h", "1.5s", "-1s", "+1", "1 s", "1s2", "1e3", "٣s", "1_000", "1S", "9" * 13],
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    """
    The message has what was written, what it was for and how to write it.
    """
    with pytest.raises(BadRequest, match="write 500ms, 30s, 5m or plain seconds") as caught:
        seconds(text, what="timeout")

    assert str(caught.value).startswith(f'invalid timeout "{text}": ')


@given(number=st.integers(0, 10**12 - 1), unit=st.sampled_from(["ms", "s", "m", ""]))
def test_units_are_in_proportion(number: int, unit: str) -> None:
    """
    A minute has 60 seconds, and a second 1,000 milliseconds.
    """
    factor = {"ms": 0.001, "s": 1, "m": 60, "": 1}[unit]

    assert seconds(f"{number}{unit}") == number * factor


@pytest.mark.parametrize(
    ("text", "expected"), [("2h", 7200.0), ("30d", 30 * 86400.0), ("90s", 90.0)]
)
def test_long_times_have_hours_and_days(text: str, expected: float) -> None:
    """
    How long something is kept is said in hours and days, too.
    """
    assert long_seconds(text) == expected


@pytest.mark.parametrize("text", ["", "1w", "1.5h", "-1d", "2H", "1234567d"])
def test_a_long_time_that_is_none_is_refused_with_an_example(text: str) -> None:
    """
    The message has what was written, what it was for and how to write it.
    """
    with pytest.raises(BadRequest, match="write 90s, 30m, 12h or 30d") as caught:
        long_seconds(text, what="older-than")

    assert str(caught.value).startswith(f'invalid older-than "{text}": ')
