"""The environment of a program, without what was added for its marks."""

from __future__ import annotations

import pytest

from agent_pty.integration import integrate
from agent_pty.integration.restored import restored

_USERS = {
    "PATH": "/usr/bin:/bin",
    "ENV": "/home/a/.shrc",
    "ZDOTDIR": "/home/a/zsh",
    "PROMPT_COMMAND": "date",
    "PYTHONSTARTUP": "/home/a/.pythonrc",
    "PYTHON_BASIC_REPL": "",
}
_PROGRAMS = (
    *(["bash"], ["bash", "--norc"], ["bash", "-l"], ["dash"], ["zsh"], ["zsh", "-f"], ["fish"]),
    *(["python3"], ["ipython"], ["node"], ["gdb"], ["sqlite3"]),
)


@pytest.mark.parametrize("argv", _PROGRAMS, ids=" ".join)
@pytest.mark.parametrize("users", [_USERS, {"PATH": "/usr/bin:/bin"}], ids=["set", "unset"])
def test_what_integration_lends_is_given_back(argv: list[str], users: dict[str, str]) -> None:
    """
    A fork of any program starts with the variables that its user had, and none of ours.
    """
    _, injected = integrate(argv, users, "5eed")

    assert restored(injected.env) == users
