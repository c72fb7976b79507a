import pytest

from agent_pty.words.call import Refusal
from agent_pty.words.placed_option import Placed, placed

USAGE = "k answer [-j] [-e] [-t D] [session] <text>"


def taken(*words: str) -> Placed:
    """Take the options of `answer`."""
    return placed(words, usage=USAGE, most=2, flags=("-j", "-e"), values=("-t", "--until"))


@pytest.mark.parametrize(
    "words",
    [
        ("-j", "-e", "-t", "5", "work", "yes"),
        ("work", "yes", "-t", "5", "-ej"),
        ("-t", "5", "work", "yes", "-je"),
    ],
)
def test_trial_18_options_stand_before_or_after_the_words(words: tuple[str, ...]) -> None:
    """
    Their order does not matter, and flags may be written together.
    """
    given = taken(*words)

    assert given.words == ["work", "yes"]
    assert given.flags == {"-j", "-e"}
    assert given.values == {"-t": ["5"]}


@pytest.mark.parametrize("text", ["-j", "-t", "--until=x", "-je", "-", "--", ""])
def test_trial_18_between_the_words_nothing_is_an_option(text: str) -> None:
    """
    The text to type comes directly after the session, whatever it looks like.
    """
    given = taken("work", text)

    assert given.words == ["work", text]
    assert not given.flags
    assert not given.values


def test_trial_18_a_value_may_be_joined_to_its_name() -> None:
    """
    As `--until=X`; a short option has its value as the next word, and values add up.
    """
    assert taken("--until=a=b", "--until", "c").values == {"--until": ["a=b", "c"]}
    assert taken("-t=5").words == ["-t=5"]


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("5", 5000), ("250ms", 250), ("2m", 120_000), ("0", 0), ("99999999", 604_800_000)],
)
def test_trial_18_a_limit_is_a_duration(text: str, milliseconds: int) -> None:
    """
    Plain numbers are seconds; more than a week is a week.
    """
    assert taken("-t", text).milliseconds(30) == milliseconds


def test_trial_18_without_a_limit_there_is_a_default() -> None:
    """
    In seconds, as people think of it.
    """
    assert taken().milliseconds(30) == 30_000


@pytest.mark.parametrize("words", [("a", "b", "c"), ("a", "b", "-t"), ("-t",)])
def test_trial_18_what_is_too_much_or_missing_is_refused(words: tuple[str, ...]) -> None:
    """
    A third word, or an option without its value, gets the usage.
    """
    with pytest.raises(Refusal, match="usage: k answer"):
        taken(*words)


def test_trial_18_a_limit_that_is_none_is_refused() -> None:
    """
    The refusal names the value and shows how to write one.
    """
    with pytest.raises(Refusal, match='"soon": write 500ms, 30s'):
        taken("-t", "soon").milliseconds(30)


def test_trial_23_long_names_are_options_too() -> None:
    """
    `--json` and `--timeout` mean `-j` and `-t`, but not in the place of a text.
    """
    given = placed(
        ["--json", "work", "--json", "--timeout", "5m"], usage="k send", most=2, values=("-t",)
    )

    assert given.flags == {"-j"}
    assert given.words == ["work", "--json"]
    assert given.milliseconds(30) == 300_000
