from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.retention import PastRecord, due

DAY = 86400.0


def record(instance: str, *, ended: float, size: int = 10) -> PastRecord:
    """Return the record of a session."""
    return PastRecord(instance=instance, ended=ended, size=size)


def names(found: list[PastRecord]) -> list[str]:
    """Return which records they are."""
    return [one.instance for one in found]


def test_old_records_are_due() -> None:
    """
    Due is what ended longer ago than the limit, oldest first; the limit itself is not exceeded.
    """
    records = [record("b", ended=2 * DAY), record("new", ended=3 * DAY), record("a", ended=DAY)]

    found = due(records, now=4 * DAY, older_than=DAY, larger_than=None)

    assert names(found) == ["a", "b"]


def test_the_oldest_that_do_not_fit_are_due() -> None:
    """
    The newest fill the space, together with what is never removed; the others are due.
    """
    records = [record(name, ended=at) for at, name in enumerate("abcd")]

    assert names(due(records, now=9.0, older_than=None, larger_than=25)) == ["a", "b"]
    assert names(due(records, now=9.0, older_than=None, larger_than=40)) == []
    assert names(due(records, now=9.0, older_than=None, larger_than=40, kept_size=1)) == ["a"]
    assert names(due(records, now=9.0, older_than=None, larger_than=0)) == ["a", "b", "c", "d"]


def test_either_limit_is_enough() -> None:
    """
    Age and size are two reasons; each counts by itself.
    """
    records = [record("old", ended=0.0, size=1), record("large", ended=5.0, size=100)]

    assert names(due(records, now=6.0, older_than=3.0, larger_than=50)) == ["old", "large"]
    assert names(due(records, now=6.0, older_than=3.0, larger_than=500)) == ["old"]


def test_nothing_is_due_without_a_limit() -> None:
    """
    Only what is asked for is done.
    """
    assert due([record("a", ended=0.0)], now=DAY, older_than=None, larger_than=None) == []


@given(
    st.lists(st.tuples(st.floats(0, 1e10), st.integers(0, 50)), max_size=8),
    st.integers(0, 200),
    st.data(),
)
def test_removing_some_makes_no_other_due(
    made: list[tuple[float, int]], limit: int, data: st.DataObject
) -> None:
    """
    Whichever of the due ones are removed, what is left has the same ones due as before.
    """
    records = [record(str(number), ended=at, size=size) for number, (at, size) in enumerate(made)]
    before = due(records, now=1e10, older_than=None, larger_than=limit)
    removed = data.draw(st.sets(st.sampled_from(before))) if before else set()

    left = [one for one in records if one not in removed]

    after = due(left, now=1e10, older_than=None, larger_than=limit)
    assert set(after) <= set(before) - removed
    assert [one.place for one in before] == sorted(one.place for one in before)
