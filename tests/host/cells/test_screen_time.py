"""For how long a full-screen program has had the screen."""

from __future__ import annotations

from agent_pty.host.cells.screen_time import ScreenTime


def test_trial_13_seconds_on_the_alternate_screen_are_long() -> None:
    """
    The time counts from the first observation of the alternate screen.
    """
    time = ScreenTime()

    assert not time.is_long(alternate=True, now=10.0)
    assert not time.is_long(alternate=True, now=11.9)
    assert time.is_long(alternate=True, now=12.0)


def test_trial_13_whoever_leaves_the_screen_begins_again() -> None:
    """
    Another program that takes the screen has not had it for long.
    """
    time = ScreenTime()
    time.is_long(alternate=True, now=10.0)

    assert not time.is_long(alternate=False, now=12.0)
    assert not time.is_long(alternate=True, now=13.0)
    assert time.is_long(alternate=True, now=15.0)
