"""What `[permission]` says about a command line."""

from __future__ import annotations

import pytest

from agent_pty.core.config import Rules, Verdict
from agent_pty.core.permission import verdict


@pytest.mark.parametrize(
    ("rules", "line", "expected"),
    [
        ("deny", "ls", "deny"),
        ({}, "ls", "allow"),
        ({"git *": "deny"}, "ls", "allow"),
        ({"*": "ask", "git *": "allow"}, "git status", "allow"),
        ({"git *": "allow", "*": "ask"}, "git status", "ask"),
        ({"rm ?": "deny"}, "rm x", "deny"),
        ({"rm ?": "deny"}, "rm xy", "allow"),
        ({"a.c": "deny"}, "abc", "allow"),
        ({"sh*": "deny"}, "sh -c a\nb", "deny"),
    ],
)
def test_the_last_pattern_that_matches_counts(rules: Rules, line: str, expected: Verdict) -> None:
    """
    A pattern matches the whole line; the last that does decides, and without one it is allowed.
    """
    assert verdict(rules, line) == expected
