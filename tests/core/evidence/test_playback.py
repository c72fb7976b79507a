"""The player of a recording, as a story: what is due when, and what keys do to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_pty.core.evidence.playback import Moment, Player, shortened


def story() -> Iterator[Moment]:
    """Something each second, from the first to the fifth."""
    return (Moment(at=float(second), code="o", text=str(second)) for second in range(1, 6))


def texts(moments: list[Moment]) -> str:
    """Return what is shown."""
    return "".join(one.text for one in moments)


def test_each_moment_is_due_at_its_time() -> None:
    """
    The deadline is the time of the next moment; what lies before it is shown together.
    """
    player = Player(story, speed=1.0, now=100.0)

    assert player.deadline == 101.0
    assert texts(player.due(101.0)) == "1"
    assert texts(player.due(103.5)) == "23"
    assert texts(player.due(200.0)) == "45"
    assert player.ended


def test_speed_makes_time_pass_faster() -> None:
    """
    Twice as fast, a second takes half a one; the speed can be changed on the way.
    """
    player = Player(story, speed=2.0, now=0.0)

    assert texts(player.due(1.0)) == "12"
    player.change_speed(0.5, 1.0)

    assert player.deadline == 2.0


def test_while_it_is_paused_nothing_is_due() -> None:
    """
    A pause has no deadline, and the time of the recording stands still.
    """
    player = Player(story, speed=1.0, now=0.0)

    player.pause(1.5)
    assert (player.deadline, texts(player.due(60.0))) == (None, "1")
    player.pause(60.0)

    assert player.deadline == 60.5


def test_going_back_shows_everything_from_the_beginning() -> None:
    """
    Forwards goes on with what follows; back begins anew, up to the earlier place.
    """
    player = Player(story, speed=1.0, now=0.0)

    assert player.seek(2.0, 1.0) is False
    assert texts(player.due(1.0)) == "123"
    assert player.seek(-2.0, 1.0) is True
    assert texts(player.due(1.0)) == "1"


@pytest.mark.parametrize(("limit", "expected"), [(None, [1.0, 61.0]), (2.0, [1.0, 3.0])])
def test_quiet_times_are_shortened(limit: float | None, expected: list[float]) -> None:
    """
    No two moments are further apart than the limit; without one they are as they were.
    """
    moments = (Moment(at=at, code="o", text="") for at in (1.0, 61.0))

    assert [one.at for one in shortened(moments, limit)] == expected
