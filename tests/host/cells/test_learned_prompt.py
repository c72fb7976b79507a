"""The prompt of a program without marks, told from the output before it on its line."""

from __future__ import annotations

from agent_pty.host.cells.learned_prompt import LearnedPrompt


def test_trial_07_a_line_that_nobody_knows_is_the_prompt() -> None:
    """
    Before any cell has ended there, the whole line is taken for the prompt.
    """
    assert LearnedPrompt().at("ab$ ") == "ab$ "


def test_trial_07_output_before_the_prompt_is_no_part_of_it() -> None:
    """
    Where a cell ended, its output stands before the prompt, and the next cell knows the prompt.
    """
    learned = LearnedPrompt()

    learned.ended("ab$ ", "$ ")

    assert learned.at("ab$ ") == "$ "
    assert learned.at("cd$ ") == "cd$ "


def test_trial_07_another_prompt_is_learned_as_it_is() -> None:
    """
    A prompt that does not end with the one before, or is of another program, is the whole line.
    """
    learned = LearnedPrompt()

    learned.ended("root# ", "user$ ")
    changed = learned.at("root# ")
    learned.ended("x>>> ", None)

    assert changed == "root# "
    assert learned.at("x>>> ") == "x>>> "
