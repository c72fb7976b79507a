import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.echo import fresh_lines, without_echo
from support.cost import PARTS, is_linear


@pytest.mark.parametrize(
    "before", ["", "$ ", "user@host:~$ ", "my own prompt: ", "Continue? [y/n] ", "> ", "... "]
)
def test_the_first_echo_goes_and_what_stands_before_it_stays(before: str) -> None:
    """
    The first line that ends with the typed text is its echo, whatever asked for it.
    """
    text = f"{before}echo done\ndone\n$ "

    assert without_echo(text, ["echo done"]) == f"{before}\ndone\n$ "


def test_blanks_at_the_end_do_not_hide_an_echo() -> None:
    """
    Typed text and its echo are compared without the blanks behind them.
    """
    assert without_echo("$ ls   \nx", ["ls "]) == "$ \nx"


def test_an_echo_drawn_again_behind_a_prompt_goes_too() -> None:
    """
    Text typed ahead is echoed by the kernel and drawn again by the shell: both are echoes.
    """
    text = "make\necho done\nbuilding\na@b:~$ make\nbuilt\na@b:~$ echo done\ndone\na@b:~$ "

    left = without_echo(text, ["make", "echo done"])

    assert left == "\n\nbuilding\na@b:~$ \nbuilt\na@b:~$ \ndone\na@b:~$ "


def test_a_repeat_without_a_prompt_is_output() -> None:
    """
    A program that answers with the same words has answered: `cat` given `hello` prints `hello`.
    """
    assert without_echo("hello\nhello\n", ["hello"]) == "\nhello\n"


def test_a_line_typed_twice_has_two_echoes() -> None:
    """
    Each typed line takes one echo, so the third is output.
    """
    assert without_echo("a\na\na", ["a", "a"]) == "\n\na"


def test_the_longest_typed_line_is_the_echo() -> None:
    """
    A typed line that ends like another does not use up the other's echo.
    """
    assert without_echo("echo ls\nls\nls", ["echo ls", "ls"]) == "\n\nls"
    assert without_echo("a b\na b\nb\nb", ["a b", "b"]) == "\na b\n\nb"


def test_continuation_lines_are_echoes() -> None:
    """
    The lines of a loop are echoed behind the shell's or Python's continuation prompt.
    """
    shell = without_echo(
        "for i in 1\n> do echo $i\n> done\n1\n$ ", ["for i in 1", "do echo $i", "done"]
    )
    python = without_echo(">>> if x:\n...  y\n... \n", ["if x:", " y", ""])

    assert shell == "\n> \n> \n1\n$ "
    assert python == ">>> \n... \n... \n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("echo d", ""),
        ("e", ""),
        ("$ echo d", "$ "),
        ("# echo d", "# "),
        ("a@b:~$ e", "a@b:~$ "),
        (">>> echo ", ">>> "),
        ("x\n$ echo d", "x\n$ "),
    ],
)
def test_an_echo_still_arriving_is_no_output(text: str, left: str) -> None:
    """
    The first part of the typed text, at the start or behind a prompt, is an echo not yet complete.
    """
    assert without_echo(text, ["echo done"]) == left


@pytest.mark.parametrize("text", ["x\necho d", "say: echo d", "echo dx", "echo d\n", "$ "])
def test_other_unfinished_lines_are_output(text: str) -> None:
    """
    The same letters elsewhere, or with more behind them, are not an arriving echo.
    """
    assert without_echo(text, ["echo done"]) == text


def test_a_prompt_keeps_its_blank_before_an_indented_line() -> None:
    """
    The blank of a waiting prompt is not the first letter of an indented line.
    """
    assert without_echo("...   y\n>>> ", ["  y"]) == "... \n>>> "


def test_the_second_line_arrives_after_the_first_echo() -> None:
    """
    Text typed ahead arrives line by line, but an answer that has begun is no second echo.
    """
    assert without_echo("make\nech", ["make", "echo done"]) == "\n"
    assert without_echo("hello\nhel", ["hello"]) == "\nhel"


@pytest.mark.parametrize("typed", [[], [""], ["  "], ["", ""]])
def test_empty_lines_remove_nothing(typed: list[str]) -> None:
    """
    An Enter alone leaves no echo to remove.
    """
    assert without_echo("$ \n\n$ ", typed) == "$ \n\n$ "


def test_control_characters_are_echoed_with_a_caret() -> None:
    """
    Ctrl-C appears as ^C, behind whatever the program had written.
    """
    assert without_echo("^C\n$ ", ["\x03"]) == "\n$ "
    assert without_echo("working^C\n$ ", ["\x03"]) == "working\n$ "
    assert without_echo("a^[[A\tb^?\nx", ["a\x1b[A\tb\x7f"]) == "\nx"


def test_a_key_is_not_the_end_of_a_word() -> None:
    """
    A program that does not echo its keys keeps its words whole.
    """
    assert without_echo("the directory\nfoo_y", ["y"]) == "the directory\nfoo_y"


@given(
    st.text(alphabet="ab $>\n^C", max_size=40), st.lists(st.text(alphabet="ab $\x03"), max_size=4)
)
def test_only_ends_of_lines_go(text: str, typed: list[str]) -> None:
    """
    Every line is kept from its beginning: nothing is added, moved or joined.
    """
    left = without_echo(text, typed).split("\n")

    assert all(whole.startswith(rest) for whole, rest in zip(text.split("\n"), left, strict=True))


@pytest.mark.serial
@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("a" * 100_000, ["a" * 50_000]),
        ("a" * 100_000, ["a" * 100_000]),
        ("a" * 99_999, ["a" * 100_000]),
        (" " * 100_000, [" " * 50_000 + "a"]),
        ("$ a\n" * 25_000, ["a"]),
        ("a\n" * 50_000, ["b"] * 1000),
        ("- " * 50_000, ["- " * n + "-" for n in range(300)]),
        (("- " * 200 + "-\n") * 250, ["- " * n + "+-" for n in range(300)]),
        ("x y z\n" * 16_000, [f"line {n} z" for n in range(5000)]),
    ],
    ids=range(9),
)
def test_hostile_text_costs_no_time(text: str, typed: list[str]) -> None:
    """
    A hundred kilobytes of near echoes cost as much as any others.
    """
    part = text[: len(text) // PARTS]

    assert is_linear(lambda: without_echo(text, typed), lambda: without_echo(part, typed))


def test_fresh_lines_are_those_not_shown_before() -> None:
    """
    What stood on the screen is old wherever it moved; each further copy is fresh.
    """
    before = ["a", "b", "$ "]
    now = ["b", "$ ls", "a", "a", "$"]

    assert fresh_lines(before, now) == ["$ ls", "a"]


def test_the_first_screen_is_all_fresh() -> None:
    """
    With nothing before, every line has just appeared.
    """
    assert fresh_lines([], ["a", "a"]) == ["a", "a"]
    assert fresh_lines(["a"], []) == []
