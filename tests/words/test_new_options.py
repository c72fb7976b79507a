import pytest

from agent_pty.words.call import Refusal
from agent_pty.words.new_options import NewOptions, parsed_new


def test_a_name_is_enough() -> None:
    """
    Everything else has a default: here, 40 by 120, without pagers.
    """
    assert parsed_new(["work"]) == NewOptions(name="work", repo=".", rows=40, cols=120, pager=False)


@pytest.mark.parametrize(
    "words",
    [
        ["--repo", "/src", "--env=A=1=2", "--rows", "30", "--pager", "-j", "work"],
        ["work", "--repo=/src", "--env", "A=1=2", "--rows=30", "--pager", "--json"],
        ["--pager", "--repo", "/src", "work", "-j", "--env", "A=1=2", "--rows", "30"],
    ],
)
def test_trial_23_options_stand_before_or_after_the_name(words: list[str]) -> None:
    """
    Both orders, and both ways to write a value, say the same.
    """
    assert parsed_new(words) == NewOptions(
        name="work", repo="/src", env={"A": "1=2"}, rows=30, pager=True, json=True
    )


def test_words_of_the_program_are_its_own() -> None:
    """
    After the first word of the program our options are the program's, as in the original.
    """
    given = parsed_new(["work", "tool", "--rows", "9", "-j", "--", "--env"])

    assert given == NewOptions(name="work", command=["tool", "--rows", "9", "-j", "--", "--env"])


def test_how_a_cell_ends_may_be_said_anywhere() -> None:
    """
    The original takes `--prompt=` at any place after the name; after `--` it is the program's.
    """
    given = parsed_new(["work", "--frame=repeat", "tool", "--prompt=x", "-a"])
    exact = parsed_new(["work", "--prompt=y", "--", "tool", "--prompt=x"])

    assert (given.frames, given.command) == (["--frame=repeat", "--prompt=x"], ["tool", "-a"])
    assert (exact.frames, exact.argv, exact.command) == (["--prompt=y"], ["tool", "--prompt=x"], [])


@pytest.mark.parametrize("words", [["--"], ["-j"], ["--repo", "/src"], ["--", "tool"]])
def test_a_session_must_be_named(words: list[str]) -> None:
    """
    Options and a program without a name are answered with the usage.
    """
    with pytest.raises(Refusal, match=r"^usage: k new "):
        parsed_new(words)


@pytest.mark.parametrize("number", ["0", "-1", "x", "", "1.5", "²"])
def test_a_size_is_a_positive_number(number: str) -> None:
    """
    The option and the value that is wrong are named.
    """
    with pytest.raises(Refusal, match=f"--cols takes a whole number, not {number!r}$"):
        parsed_new(["work", "--cols", number])
