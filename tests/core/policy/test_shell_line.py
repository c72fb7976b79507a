from __future__ import annotations

import pytest

from agent_pty.core.policy.shell_line import labels, runs

RUNS = {
    "pytest": True,
    "pytest -q tests": True,
    ".venv/bin/pytest": True,
    "cd src && pytest": True,
    "CI=1 pytest": True,
    "echo pytest": False,
    "# pytest": False,
    "cat <<E\npytest\nE": False,
}


@pytest.mark.parametrize("line", RUNS)
def test_a_line_runs_what_a_shell_would_run(line: str) -> None:
    """
    A command counts wherever it stands in a line; its name as an argument or as text does not.
    """
    assert runs(line, ("pytest",)) is RUNS[line]


def test_every_rule_of_a_line_is_found() -> None:
    """
    A line of several commands falls under the rules of each.
    """
    assert labels("git push -f; kubectl delete pod x") == {"git push --force", "kubectl delete"}
    assert labels("ls -la") == set()
