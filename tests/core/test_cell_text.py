# ruff: noqa: RUF001 - prompts are made of ambiguous characters

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.cell_text import echo_end, reply_start, unechoed, without_prompt


@pytest.mark.parametrize(
    ("line", "prompt", "left"),
    [
        (">>> ", ">>> ", ""),
        (">>>", ">>> ", ""),
        (">>> ", ">>>", ""),
        ("abc>>> ", ">>> ", "abc"),
        ("abc >>> ", ">>> ", "abc "),
        ("$ $ ", "$ ", "$ "),
        ("héllo❯ ", "❯ ", "héllo"),
    ],
)
def test_output_before_the_prompt_is_kept(line: str, prompt: str, left: str) -> None:
    """
    A program that wrote no line end has its output on the line of the next prompt.
    """
    assert without_prompt(line.encode(), prompt) == left.encode()


@pytest.mark.parametrize("prompt", ["", "  ", "$ ", "a@b:", "a@b:~/x> "])
def test_a_line_without_the_prompt_is_another_prompt(prompt: str) -> None:
    """
    What does not end in the prompt is a prompt of another shape: no output is made of it.
    """
    assert without_prompt(b"a@b:~> ", prompt) == b""


@given(output=st.text("ab $>"), prompt=st.text("$> ", min_size=1).filter(str.strip))
def test_output_and_prompt_add_up(output: str, prompt: str) -> None:
    """
    Whatever was written before the prompt comes back as it was.
    """
    assert (
        without_prompt((output + prompt).encode(), prompt.lstrip())
        == (output + prompt[: len(prompt) - len(prompt.lstrip())]).encode()
    )


def test_the_echo_of_each_line_goes_with_its_line() -> None:
    """
    Lines that show what was typed are left out whole, prompt included; output between them stays.
    """
    text = "x = 1\n>>> print(x)\n1\n>>> print(2)\n2\n"

    assert unechoed(text, ["x = 1", "print(x)", "print(2)"]) == "1\n2\n"


def test_the_lines_of_a_block_go() -> None:
    """
    A block is echoed behind continuation prompts, its closing empty line as a prompt alone.
    """
    block = "for i in (1, 2):\n...     print(i)\n... \n1\n2\n"
    typed = ["for i in (1, 2):", "    print(i)", ""]

    assert unechoed(block, typed) == "1\n2\n"
    assert unechoed(f"print(0)\n0\n>>> {block}", ["print(0)", *typed]) == "0\n1\n2\n"


@pytest.mark.parametrize(
    "shown",
    [
        "if x\n  echo y\nfi\n",
        "$ if x\n>   echo y\n> fi\n",
        "if x\n  echo y\nfi\n$ if x\n>   echo y\n> fi\n",
        "if x\n  echo y\nfi\n\n$ if x\n>   echo y\n> fi\n",
    ],
)
def test_a_paste_that_is_shown_whole_goes_whole(shown: str) -> None:
    """
    However often a line editor draws it, behind whatever prompts, and no line of output with it.
    """
    assert unechoed(f"{shown}  y\n\nz\n", ["if x", "  echo y", "fi"]) == "  y\n\nz\n"


@pytest.mark.parametrize("indent", ["\t", "      "])
def test_a_tab_behind_a_prompt_is_as_wide_as_is_left(indent: str) -> None:
    """
    Behind `> ` a tab reaches column eight in six blanks; it may be shown as either.
    """
    shown = f"if x\n\techo y\nfi\n$ if x\n> {indent}echo y\n> fi\n"

    assert unechoed(f"{shown}y\n", ["if x", "\techo y", "fi"]) == "y\n"


def test_output_keeps_its_shape() -> None:
    """
    Empty lines, indentation and what only resembles the code stay.
    """
    text = "cat a\n$ cat b\n\n  two\n... three\n\ncat c\n"

    assert unechoed(text, ["cat a", "cat b"]) == "\n  two\n... three\n\ncat c\n"


def test_output_that_says_what_was_typed_stays() -> None:
    """
    One echo for each line: a program that answers each with its own words has answered.
    """
    assert unechoed("1\n1\n>>> 2\n2\n", ["1", "2"]) == "1\n2\n"


@given(
    text=st.text("ab.\n $", max_size=40), typed=st.lists(st.text("ab $", max_size=3), min_size=1)
)
def test_nothing_is_made_up(text: str, typed: list[str]) -> None:
    """
    What is left are lines of the text, in their order.
    """
    lines = iter(text.split("\n"))

    left = unechoed(text, typed)

    assert left == "" or all(line in lines for line in left.split("\n"))


@pytest.mark.parametrize(
    ("text", "typed", "place"),
    [
        (b"ls\na\nb\n", "ls", 3),
        (b"ls\n", "ls", 3),
        (b"ls -l  \na\n", "ls -l", 8),
        (b"echo hi there\nhi", "echo hi", 14),
        ("grüß dich\na".encode(), "grüß dich", 12),
        (b"\na", "", 1),
        (b"ls", "ls", 2),
        (b"$ ls\na\n", "ls", 5),
        (b"root@vm:/tmp# . 'code' && : \none\n", ". 'code' && :", 29),
    ],
)
def test_output_begins_behind_the_echo(text: bytes, typed: str, place: int) -> None:
    """
    The line that begins as it was typed is its echo, however its end was drawn.
    """
    assert echo_end(text, typed, echoed=True) == place


@pytest.mark.parametrize(
    ("text", "echoed"),
    [(b"ls\nb\n", False), (b"a\nb\n", True), (b"", True), (b"$ ls", True), (b"a ls\n", True)],
)
def test_without_an_echo_all_is_output(text: bytes, echoed: bool) -> None:  # noqa: FBT001  a column
    """
    Where the terminal does not echo, or the text does not begin with what was typed.
    """
    assert echo_end(text, "ls", echoed=echoed) == 0


@pytest.mark.parametrize(
    ("text", "answer", "place"),
    [
        (b"yes\ngood\n", "yes", 4),
        (b"yes\n", "yes", 4),
        (b"yes", "yes", 3),
        ("grüß\na".encode(), "grüß", 7),
        (b"one\ntwo\nend", "one\ntwo", 8),
        (b"\ngood", "", 1),
        (b"\ngood", "secret", 1),
        (b"good", "secret", 0),
        # A reply that begins as the answer does is no echo.
        (b"you chose y", "y", 0),
        ("yé".encode(), "y", 0),
        (b"", "yes", 0),
    ],
)
def test_trial_18_a_reply_begins_after_the_echo(text: bytes, answer: str, place: int) -> None:
    """
    The line of the answer and the newline of its Enter are the terminal's; the rest is the reply.
    """
    assert reply_start(text, answer, newline=True) == place


def test_trial_18_a_blank_line_is_a_reply_where_no_enter_is_shown() -> None:
    """
    Without echo, after a question that ended its own line, the program wrote the newline itself.
    """
    assert reply_start(b"\ngood", "secret", newline=False) == 0
