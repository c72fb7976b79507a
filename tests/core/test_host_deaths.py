import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.host_deaths import MOST_DEATHS, WINDOW, HostDeaths, Moves


def die(deaths: HostDeaths, count: int, *instances: str, at: float = 0.0) -> Moves:
    """Let the host of these sessions die so often, and return the last decision."""
    assert count > 0
    return [deaths.died(instances, at=at) for _ in range(count)][-1]


def test_trial_10_after_the_first_death_all_sessions_stay_together() -> None:
    """
    One death is nobody's fault: the sessions move to a shared host at once.
    """
    moves = die(HostDeaths(), 1, "a", "b")

    assert moves == Moves(pause=0.0, together=["a", "b"], apart=[], given_up=[])


def test_trial_10_after_the_second_death_each_session_gets_its_own_host() -> None:
    """
    Up to eight sessions are separated completely.
    """
    names = [f"s{number}" for number in range(8)]

    moves = die(HostDeaths(), 2, *names)

    assert moves.together == []
    assert moves.apart == [[name] for name in names]


def test_trial_10_many_sessions_are_divided_among_eight_hosts() -> None:
    """
    A host costs memory, so that many sessions do not get one each at once.
    """
    names = [f"s{number}" for number in range(100)]

    moves = die(HostDeaths(), 2, *names)

    assert len(moves.apart) == 8
    assert sorted(name for group in moves.apart for name in group) == sorted(names)
    assert {len(group) for group in moves.apart} == {12, 13}


def test_trial_10_who_came_later_is_not_suspected() -> None:
    """
    A session that has seen one death only goes to a shared host, its neighbour does not.
    """
    deaths = HostDeaths()
    die(deaths, 1, "old")

    moves = die(deaths, 1, "old", "young")

    assert (moves.together, moves.apart) == (["young"], [["old"]])


@pytest.mark.parametrize(("count", "pause"), [(1, 0.0), (2, 0.1), (3, 0.2), (4, 0.4), (20, 5.0)])
def test_deaths_in_a_row_are_slowed(count: int, pause: float) -> None:
    """
    Each further death within a minute doubles the pause before the next host, up to five seconds.
    """
    assert die(HostDeaths(), count, "a", "b").pause == pytest.approx(pause)


def test_the_fifth_death_within_a_minute_is_the_last() -> None:
    """
    A session that is alone is given up then, and not earlier.
    """
    deaths = HostDeaths()

    assert die(deaths, MOST_DEATHS - 1, "a").given_up == []
    moves = die(deaths, 1, "a")

    assert moves.given_up == ["a"]
    assert (moves.together, moves.apart) == ([], [])


def test_trial_10_who_has_neighbours_is_not_given_up() -> None:
    """
    As long as it is not known which session causes the deaths, they are divided further.
    """
    moves = die(HostDeaths(), 2 * MOST_DEATHS, "a", "b")

    assert moves.given_up == []
    assert moves.apart == [["a"], ["b"]]


def test_old_deaths_are_forgotten() -> None:
    """
    A minute after the last death a session counts as one that has seen none.
    """
    deaths = HostDeaths()
    die(deaths, 4, "a", at=0.0)

    moves = die(deaths, 1, "a", at=WINDOW)

    assert (moves.pause, moves.together, moves.given_up) == (0.0, ["a"], [])


@given(st.integers(min_value=1, max_value=512), st.data())
def test_trial_10_five_deaths_find_the_one_session_that_causes_them(
    count: int, data: st.DataObject
) -> None:
    """
    Among up to 512 sessions only the guilty one is given up, after five deaths.
    """
    names = [f"s{number}" for number in range(count)]
    guilty = data.draw(st.sampled_from(names))
    deaths, host = HostDeaths(), names

    for _ in range(MOST_DEATHS - 1):
        moves = deaths.died(host, at=0.0)
        assert moves.given_up == []
        host = next(list(group) for group in [moves.together, *moves.apart] if guilty in group)
    moves = deaths.died(host, at=0.0)

    assert moves.given_up == [guilty]
