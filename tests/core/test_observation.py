from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.observation import Observation, common_length

SHORT = st.text("ab", max_size=12).map(str.encode)


@given(one=SHORT, other=SHORT)
def test_common_length_counts_equal_leading_bytes(one: bytes, other: bytes) -> None:
    """
    The search by halves finds what a comparison byte by byte finds.
    """
    equal = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))

    assert common_length(one, other) == len(list(equal))


@given(shown=SHORT, stream=SHORT, cuts=st.lists(st.integers(0, 12), max_size=3))
def test_what_stands_is_the_common_beginning(shown: bytes, stream: bytes, cuts: list[int]) -> None:
    """
    It makes no difference how much of the stream was committed, and in how many steps.
    """
    observation = Observation()
    observation.begin(shown)

    start = 0
    for end in sorted(cuts):
        observation.settle(stream[start:end])
        start = end

    assert observation.intact(stream[start:]) == common_length(shown, stream)


def test_a_new_observation_replaces_the_last() -> None:
    """
    Only what was shown last is remembered.
    """
    observation = Observation()
    observation.begin(b"old")
    observation.settle(b"other\n")
    observation.begin(b"new")

    assert (observation.shown, observation.intact(b"new line")) == (3, 3)
