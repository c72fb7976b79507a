import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.repeat import ENTERS, before_prompts, echoed_enters

PROMPT = ">>> "
# One prompt behind the output, and one for each Enter.
PROMPTS = "\n".join([PROMPT] * (ENTERS + 1))


@pytest.mark.parametrize("output", ["", "abc", "a\nb", "  indented", "a\n\nb", ">>> a"])
def test_what_stands_before_the_prompts_is_output(output: str) -> None:
    """
    Behind the output stand its prompt and five more; the last line end is not output.
    """
    assert before_prompts(f"{output}\n{PROMPTS}" if output else PROMPTS, PROMPT) == output


def test_output_without_a_line_end_is_kept() -> None:
    """
    The first prompt stands on the line of the output then.
    """
    assert before_prompts(f"abc{PROMPTS}", PROMPT) == "abc"


def test_prompts_may_stand_on_one_line() -> None:
    """
    Where the terminal echoed the Enters before the program ran, prompts have no line ends.
    """
    assert before_prompts("abc\n" + "# " * ENTERS, "# ") == "abc"


@pytest.mark.parametrize("before", ["# ", "# # ", "# " * (ENTERS + 1)])
def test_a_row_of_prompts_is_one_prompt(before: str) -> None:
    """
    Where the Enters of the last cell left several on the line, each of them is the prompt.
    """
    assert before_prompts("abc\n" + "# " * ENTERS, before) == "abc"
    assert before_prompts("abc\n" + "# " * (ENTERS - 1), before) is None


def test_a_prompt_of_several_words_is_one_prompt() -> None:
    """
    Words that differ belong together.
    """
    prompts = "\n".join(["a@b ~ $ "] * ENTERS)

    assert before_prompts(f"abc $\n{prompts}", "a@b ~ $ ") == "abc $"


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("abc\n\n", 0), ("\nabc", 1), ("\n\n\n\n\nabc", 5), ("\n\n\n\n\n\n\n", 5)],
)
def test_enters_that_were_echoed_first_are_counted(text: str, count: int) -> None:
    """
    A terminal in line mode shows the Enters before the output, and never more than were pressed.
    """
    assert echoed_enters(text) == count


@pytest.mark.parametrize("count", range(ENTERS))
def test_too_few_prompts_are_not_the_end(count: int) -> None:
    """
    Until five prompts have come, more may follow.
    """
    text = "abc\n" + "\n".join([PROMPT] * count)

    assert before_prompts(text, PROMPT) is None


def test_text_behind_the_prompts_is_not_the_end() -> None:
    """
    Only prompts at the very end count: a program that printed them and went on still runs.
    """
    assert before_prompts(f"{PROMPTS}\nmore", PROMPT) is None
    assert before_prompts(f"{PROMPTS}x", PROMPT) is None


@pytest.mark.parametrize("prompt", [">>>", ">>> ", ">>>   "])
def test_blanks_behind_a_prompt_do_not_matter(prompt: str) -> None:
    """
    A terminal may lose the blank behind a prompt, or keep it.
    """
    assert before_prompts(f"abc\n{PROMPTS}", prompt) == "abc"
    assert before_prompts("abc\n" + "\n".join([prompt] * ENTERS), PROMPT) == "abc"


@given(output=st.lists(st.text("ab$", max_size=4), max_size=4).map("\n".join))
def test_only_the_end_is_cut(output: str) -> None:
    """
    What is left is the beginning of the text, and nothing but line ends is missing of it.
    """
    left = before_prompts(f"{output}\n{PROMPTS}", PROMPT)

    assert left is not None
    assert output.startswith(left)
    assert output[len(left) :].strip("\n") == ""


def test_without_a_prompt_five_equal_lines_have_to_do() -> None:
    """
    A prompt that was not seen before is known by its repetition.
    """
    assert before_prompts("abc\nd\n" + "\n".join(["? "] * ENTERS), "") == "abc\nd"
    assert before_prompts("\n".join(["? "] * ENTERS), " ") == ""
    assert before_prompts("abc\n" + "\n".join(["? "] * (ENTERS - 1)), "") is None
    assert before_prompts("a\nb\nc\nd\ne", "") is None
    assert before_prompts("", "") is None
