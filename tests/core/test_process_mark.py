from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.process_mark import is_mark, process_mark

LARGEST_LIMIT = 2**64 - 1  # which means "unlimited"


@given(st.text())
def test_trial_06_a_mark_is_recognised_as_one(instance: str) -> None:
    """
    A mark is a limit that nobody would set, the same each time, and never the largest one.
    """
    mark = process_mark(instance)

    assert is_mark(mark)
    assert mark == process_mark(instance)
    assert mark < LARGEST_LIMIT


@given(st.integers(min_value=0, max_value=2**40))
def test_trial_06_an_ordinary_limit_is_no_mark(limit: int) -> None:
    """
    What `ulimit` may have set does not attribute a process to a session.
    """
    assert not is_mark(limit)
    assert not is_mark(LARGEST_LIMIT)


def test_trial_06_sessions_have_different_marks() -> None:
    """
    Two sessions do not share a mark.
    """
    assert len({process_mark(f"{number:016x}") for number in range(10_000)}) == 10_000
