"""The beginning of a cell's code, as `peek` shows it."""

from __future__ import annotations

import pytest

from agent_pty.core.short_code import shortened


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("make all", "make all"),
        ("  make\tall  \n\n", "make all"),
        ("\n\ndef f():\n    return 5", "def f(): ..."),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 77 + "..."),
        ("echo \x1b[31mred\x07", "echo [31mred"),
        ("", ""),
    ],
)
def test_trial_12_code_is_one_short_line(code: str, shown: str) -> None:
    """
    The first line that has text, without controls; dots stand for what is left out.
    """
    assert shortened(code) == shown
