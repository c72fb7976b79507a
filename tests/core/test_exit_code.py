"""Which programs have exit codes, and what an unknown one is as a status."""

from __future__ import annotations

from typing import Any

import pytest

from agent_pty.core.exit_code import (
    UNKNOWN_STATUS,
    cell_status,
    has_exit_codes,
    program_status,
)


@pytest.mark.parametrize(
    ("program", "has"),
    [
        *((name, True) for name in ("bash", "-bash", "sh", "zsh-5.9", "ksh93", "python3.12")),
        *((name, True) for name in ("ipython3", "node", "pwsh")),
        *((name, False) for name in ("gdb", "sqlite3", "psql", "irb", "cat", "", "-")),
    ],
)
def test_trial_05_shells_have_exit_codes(program: str, *, has: bool) -> None:
    """
    Shells and the REPLs that report failures have exit codes, whatever their version.
    """
    assert has_exit_codes(program) is has


@pytest.mark.parametrize(
    ("cell", "status"),
    [
        ({"status": "done", "exit_code": 0, "exit_code_unknown": False}, 0),
        ({"status": "done", "exit_code": 3, "exit_code_unknown": False}, 3),
        ({"status": "done", "exit_code": None, "exit_code_unknown": False}, 0),
        ({"status": "done", "exit_code": None}, 0),
        ({"status": "done", "exit_code": None, "exit_code_unknown": True}, UNKNOWN_STATUS),
        ({"status": "error", "exit_code": None, "exit_code_unknown": False}, 1),
        ({"status": "error", "exit_code": 3, "exit_code_unknown": False}, 3),
        ({"status": "error", "exit_code": None, "exit_code_unknown": True}, UNKNOWN_STATUS),
    ],
)
def test_trial_05_an_unknown_exit_code_has_a_status_of_its_own(
    cell: dict[str, Any], status: int
) -> None:
    """
    A cell exits as its code did; only one that is unknown has the status for that.
    """
    assert cell_status(cell) == status


def test_trial_05_a_program_whose_end_nobody_saw_did_not_succeed() -> None:
    """
    A program exits with its code or 128 and its signal, and with neither it is unknown.
    """
    assert [program_status(*end) for end in ((0, None), (3, None), (None, 9), (None, None))] == [
        0,
        3,
        137,
        UNKNOWN_STATUS,
    ]
