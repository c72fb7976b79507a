"""The line that was typed into a shell."""

from __future__ import annotations

import pytest

from agent_pty.core.typed_line import TypedLine, key_text


def typed(*pieces: str) -> list[str | None]:
    """Return the lines that were submitted by several inputs."""
    line, submitted = TypedLine(), list[str | None]()
    for piece in pieces:
        lines, line = line.after(piece)
        submitted += lines
    return submitted


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        (["r", "m x", "\r"], ["rm x"]),
        (["ab\x7fc\r"], ["ac"]),
        (["junk\x15ls\r"], ["ls"]),
        (["junk\x03", "ls\n"], ["ls"]),
        (["\x1b[A\r", "ls\r"], [None, "ls"]),
        (["rm \t\r"], [None]),
        (["a\nb\r"], ["a", "b"]),
    ],
)
def test_trial_01_a_line_is_what_was_typed_before_its_enter(
    pieces: list[str], lines: list[str | None]
) -> None:
    """
    Pieces of a line belong together; keys that only an editor understands make it unknown.
    """
    assert typed(*pieces) == lines


def test_trial_01_keys_that_type_a_character_are_text() -> None:
    """
    Whoever presses keys one by one types a line, too.
    """
    keys = ["r", "m", "Space", "S-x", "Enter"]

    assert typed(*map(key_text, keys)) == ["rm X"]
