"""What a question looks like, where nothing but its text is known."""

from __future__ import annotations

import pytest

from agent_pty.core.question import asks_for_secret, looks_like_question

QUESTIONS = ["name? ", "Name: ", "Continue? [Y/n] ", "package name: (np) ", "read> ", "Password:"]
OTHERS = ["", "   ", "Downloading", "45%", "Got 45% (450/1000)", "[ 3 / 10 ]", "Building...", "x$ "]


@pytest.mark.parametrize("line", QUESTIONS)
def test_trial_07_a_question_ends_as_questions_do(line: str) -> None:
    """
    A question mark, a colon or a bracket at its end makes a line a question.
    """
    assert looks_like_question(line)


@pytest.mark.parametrize("line", OTHERS)
def test_trial_07_progress_is_no_question(line: str) -> None:
    """
    An empty line, a word and a count ask for nothing, however long they stand there.
    """
    assert not looks_like_question(line)


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("[sudo] password for me: ", True),
        ("Enter passphrase for key 'x': ", True),
        ("PIN: ", True),
        ("Verification code: ", True),
        ("Name: ", False),
        ("Opinion? ", False),
    ],
)
def test_trial_07_words_tell_a_secret(line: str, *, secret: bool) -> None:
    """
    A password, a passphrase or a PIN is a secret, by the words of the question.
    """
    assert asks_for_secret(line) is secret
