import pytest

from agent_pty.words.call import Refusal
from agent_pty.words.option import Parsed, milliseconds, parsed

USAGE = "k run [-j] [-t N] [session] <code>"


def taken(*words: str) -> Parsed:
    """Take the options of `run`."""
    return parsed(words, usage=USAGE, flags=("-j", "-e"), numbers=("-t",))


def test_options_come_first() -> None:
    """
    Flags and numbers before the first word are options, in any order; the rest is words.
    """
    assert taken("-j", "-t", "5", "-e", "one", "two") == Parsed(
        flags=frozenset({"-j", "-e"}), numbers={"-t": 5}, words=["one", "two"]
    )
    assert taken("one") == Parsed(flags=frozenset(), numbers={}, words=["one"])
    assert taken() == Parsed(flags=frozenset(), numbers={}, words=[])


def test_the_first_word_ends_the_options() -> None:
    """
    Whatever stands behind it is data, even if it looks like an option.
    """
    assert taken("one", "-t", "x", "-j").words == ["one", "-t", "x", "-j"]
    assert not taken("one", "-j").flags


@pytest.mark.parametrize(
    "word", ["-z", "--jsn", "-jz", "-zj", "-tj", "--json=x", "-", "--", "-t5", ""]
)
def test_an_unknown_option_is_a_word(word: str) -> None:
    """
    It may be the name of a session; whoever takes it for one will say so.
    """
    assert taken(word, "-j") == Parsed(flags=frozenset(), numbers={}, words=[word, "-j"])


def test_the_last_of_several_counts() -> None:
    """
    An option given twice is given once.
    """
    assert taken("-t", "1", "-t", "2", "-j", "-j") == Parsed(
        flags=frozenset({"-j"}), numbers={"-t": 2}, words=[]
    )


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("-1", -1), ("007", 7), ("+3", 3)])
def test_a_number_is_whole(text: str, number: int) -> None:
    """
    Zero, negative ones and leading zeros are numbers.
    """
    assert taken("-t", text).numbers == {"-t": number}


@pytest.mark.parametrize("text", ["x", "1.5", "", "-j", "1e3", "0x10", "9" * 5000, "5h", "-5m"])
def test_what_is_no_number_is_refused(text: str) -> None:
    """
    The usage comes first, then which option was wrong, and how.
    """
    with pytest.raises(Refusal) as caught:
        taken("-t", text)

    usage, reason = str(caught.value).split("\n")
    assert usage == f"usage: {USAGE}"
    assert reason == f"-t takes seconds or a duration such as 500ms, 30s, 5m, not {text!r}"


@pytest.mark.parametrize(
    ("words", "flags", "limit"),
    [
        (["--json", "--timeout", "5m"], {"-j"}, 300_000),
        (["--timeout=90"], set(), 90_000),
        (["-je", "-t", "500ms"], {"-j", "-e"}, 500),
        (["-ejt", "2s"], {"-j", "-e"}, 2_000),
        (["-t", "-1"], set(), -1_000),
    ],
)
def test_trial_23_options_are_those_of_agent_pty(
    words: list[str], flags: set[str], limit: int
) -> None:
    """
    Long names, durations and several flags in one word mean in `k` what they mean in `agent-pty`.
    """
    given = taken(*words, "work", "-j")

    assert given.flags == frozenset(flags)
    assert milliseconds(given, 30) == limit
    assert given.words == ["work", "-j"]


def test_other_numbers_are_whole() -> None:
    """
    Only `-t` takes a duration.
    """
    with pytest.raises(Refusal) as caught:
        parsed(["-n", "5m"], usage=USAGE, numbers=("-n",))

    assert str(caught.value) == f"usage: {USAGE}\n-n takes a whole number, not '5m'"


def test_a_number_that_is_missing_is_refused() -> None:
    """
    An option that wants a number and is the last word gets the usage.
    """
    with pytest.raises(Refusal) as caught:
        taken("-j", "-t")

    assert str(caught.value) == f"usage: {USAGE}"
