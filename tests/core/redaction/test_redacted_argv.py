from __future__ import annotations

import pytest

from agent_pty.core.redaction.argv import redacted_argv

SECRET = "swordfish-42"


@pytest.mark.parametrize(
    "argv",
    [
        ["tool", "--password", SECRET, "-v"],
        ["tool", f"--password={SECRET}"],
        ["mysql", "-u", "root", f"-p{SECRET}"],
        ["sshpass", "-p", SECRET, "ssh", "host"],
        ["docker", "login", "-u", "me", "-p", SECRET, "host"],
        ["curl", "-u", f"bob:{SECRET}", "https://example.com"],
        ["sh", "-c", f"export API_TOKEN={SECRET}; make"],
        ["env", f"DB_PASSWORD={SECRET}", "psql"],
    ],
)
def test_a_secret_on_a_command_line_is_taken_out(argv: list[str]) -> None:
    """
    By the word itself or by the words before it; every other word stays, and so does their number.
    """
    shown = redacted_argv(argv)

    assert len(shown) == len(argv)
    assert SECRET not in " ".join(shown)
    changed = [word for word, was in zip(shown, argv, strict=True) if word != was]
    assert len(changed) == 1
    assert "[REDACTED" in changed[0]


def test_known_values_are_secret_anywhere() -> None:
    """
    A value of the environment whose name promises a secret.
    """
    assert redacted_argv(["echo", SECRET], [SECRET]) == ["echo", "[REDACTED:known_value]"]


def test_long_words_are_looked_at_by_themselves() -> None:
    """
    A script is redacted once, however many words follow it.
    """
    script = "x" * 5000 + f"; export API_TOKEN={SECRET}"

    shown = redacted_argv(["sh", "-c", script, "--password", SECRET])

    assert shown[2].endswith("API_TOKEN=[REDACTED]")
    assert shown[4] == "[REDACTED:flag]"


@pytest.mark.parametrize(
    "argv",
    [[], [""], ["cat"], ["make", "-j8", "token.c", "--verbose"], ["git", "commit", "-m", "a b\nc"]],
)
def test_harmless_words_stay(argv: list[str]) -> None:
    """
    Nothing is changed without a reason.
    """
    assert redacted_argv(argv) == argv
