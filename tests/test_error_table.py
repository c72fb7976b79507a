"""The table of error codes in docs/protocol.md, and what `--help` says of exit statuses."""

from __future__ import annotations

import re
from pathlib import Path

from agent_pty import errors
from agent_pty.words.agent_pty import EXIT_STATUSES

PAGE = Path(__file__).parents[1] / "docs/protocol.md"


def rows() -> dict[str, int]:
    """Return the exit status that the page has for each code."""
    section = PAGE.read_text().partition("## Error codes")[2].partition("\n## ")[0]
    found = re.findall(r"^\| (.+?) \| .+ \| (\d) \|$", section, re.MULTILINE)
    return {code: int(status) for codes, status in found for code in re.findall(r"\w+", codes)}


def raised() -> dict[str, int]:
    """Return the exit status of each error that is not only there to be the base of others."""
    classes = [each for each in vars(errors).values() if isinstance(each, type)]
    own = [each for each in classes if issubclass(each, errors.AgentPtyError)]
    return {each.code: each.exit_status for each in own if not each.__subclasses__()}


def test_the_page_has_every_code_with_its_exit_status() -> None:
    """
    A program that reads the page knows what each status means; `usage` is below the table.
    """
    assert raised().items() - rows().items() == {("usage", 2)}


def test_the_help_names_every_exit_status() -> None:
    """
    Also that of a refusal, which scripts meet more often than most others.
    """
    words = EXIT_STATUSES.split()

    assert {str(status) for status in raised().values()} <= set(words)
    assert "3 refused by the policy" in " ".join(words)
