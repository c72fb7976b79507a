import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.history import Entry, told


def line(text: str) -> Entry:
    """Say what a line of text is told as."""
    return Entry(kind="text", text=text)


FIRED = Entry(kind="fired", text="0123456789ab")
DONE = Entry(kind="done", text="0123456789ab")
NOTE = Entry(kind="notify", text="mind the gap", who="bash@k:1")


def test_text_alone_is_its_lines() -> None:
    """
    Without events the past is what was written, empty lines and the unfinished one included.
    """
    assert told("a\n\nb", 0, []) == [line("a"), line(""), line("b")]


def test_an_event_stands_before_the_line_that_followed_it() -> None:
    """
    What happened when the first line was written stands behind it and before the second.
    """
    found = told("$ make\nok\n$ ", 0, [(0, NOTE), (7, FIRED), (10, DONE)])

    assert found == [NOTE, line("$ make"), FIRED, line("ok"), DONE, line("$ ")]


def test_an_event_within_a_line_stands_behind_it() -> None:
    """
    A line is one: what happened in its middle is told before the next.
    """
    assert told("abc\nd", 0, [(2, FIRED)]) == [line("abc"), FIRED, line("d")]


def test_what_happened_last_is_told_last() -> None:
    """
    Events at the end of the text, or behind it, are not lost.
    """
    assert told("a\nb", 0, [(3, FIRED), (9, DONE)]) == [line("a"), line("b"), FIRED, DONE]


def test_what_happened_before_the_text_is_not_told() -> None:
    """
    The past begins where the text does; an event at that very place belongs to it.
    """
    found = told("c\nd", 100, [(0, NOTE), (99, NOTE), (100, FIRED), (102, DONE)])

    assert found == [FIRED, line("c"), DONE, line("d")]


def test_events_at_one_place_keep_their_order() -> None:
    """
    A cell that wrote nothing was fired before it was done.
    """
    assert told("a\nb", 0, [(2, FIRED), (2, DONE)]) == [line("a"), FIRED, DONE, line("b")]


@pytest.mark.parametrize("text", ["é", "漢", "𝄞"])
def test_places_are_counted_in_bytes(text: str) -> None:
    """
    Places are those of the transcript, which counts bytes and not characters.
    """
    behind = len(text.encode()) + 1

    assert told(f"{text}\nb\nc", 0, [(behind, DONE)])[1] == DONE
    assert told(f"{text}\nb\nc", 0, [(behind + 1, DONE)])[2] == DONE


@given(
    text=st.text("aé\n", max_size=30),
    start=st.integers(0, 5),
    places=st.lists(st.integers(0, 40), max_size=5).map(sorted),
)
def test_nothing_is_lost_and_nothing_moves(text: str, start: int, places: list[int]) -> None:
    """
    Lines and events each keep their order, and every event since the start is there once.
    """
    events = [(place, Entry(kind="fired", text=str(number))) for number, place in enumerate(places)]

    found = told(text, start, events)

    assert [one.text for one in found if one.kind == "text"] == text.split("\n")
    assert [one for one in found if one.kind != "text"] == [
        entry for place, entry in events if place >= start
    ]
