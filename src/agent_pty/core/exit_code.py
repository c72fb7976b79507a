"""Exit codes of commands: which programs have them, and the status for one that is unknown."""

from __future__ import annotations

import re
from typing import Any, Final

# Not one of those in use here (1 to 9, 124, 125), nor of those with a meaning to shells (126 and
# above) or to xargs and fish (123).
UNKNOWN_STATUS: Final = 122

# Of `run --until`: the code ended well, but no condition came true.
UNMET_STATUS: Final = 9

_SHELLS = frozenset(
    {"ash", "bash", "csh", "dash", "elvish", "fish", "hush", "ksh", "lksh", "mksh", "nu", "oksh"}
    | {"osh", "pwsh", "rbash", "sh", "tcsh", "xonsh", "yash", "ysh", "zsh"}
)
# With our marks these report whether code failed; without them nobody does.
_REPLS = frozenset(("ipython", "node", "python"))
_VERSION = re.compile(r"-?[0-9.]+$")


def has_exit_codes(program: str) -> bool:
    """Say whether a program, by its name, has an exit code for each command that it runs.

    >>> has_exit_codes("python3.12"), has_exit_codes("-bash"), has_exit_codes("gdb")
    (True, True, False)
    """
    return is_shell(program) or _VERSION.sub("", program) in _REPLS


def is_shell(program: str) -> bool:
    """Say whether a program, by its name, is a shell."""
    name = program.removeprefix("-")  # a login shell
    return name in _SHELLS or _VERSION.sub("", name) in _SHELLS


def cell_status(cell: dict[str, Any]) -> int:
    """Return the exit status for a cell that has ended: its own, or that it is unknown."""
    if cell.get("exit_code_unknown"):  # a host of an earlier build does not report it
        return UNKNOWN_STATUS
    failed = 1 if cell["status"] == "error" else 0
    return cell["exit_code"] or failed


def program_status(exit_code: int | None, signal: int | None) -> int:
    """Return the exit status for a program that has ended: its own, or that it is unknown."""
    if signal:
        return 128 + signal
    return UNKNOWN_STATUS if exit_code is None else exit_code
