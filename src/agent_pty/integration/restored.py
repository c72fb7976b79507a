"""The environment that a program was given, without what was added for its marks. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from agent_pty.integration.injected import SCRIPTS

# Variables that lead programs to our scripts. The user's own value, if there was one, is in another
# variable (see `zsh.py`, `bash.py`, `dash.py`, `python.py`).
_LENT = ("ENV", "PROMPT_COMMAND", "PSQLRC", "PYTHONSTARTUP", "ZDOTDIR")
_BASIC_REPL = "PYTHON_BASIC_REPL"
_OURS = "AGENT_PTY_"


def restored(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment as it was before `integrate`, for another program.

    >>> restored({"ENV": SCRIPTS + "/dash.sh", "AGENT_PTY_ENV": "~/.shrc", "LANG": "C"})
    {'ENV': '~/.shrc', 'LANG': 'C'}
    """
    found = dict(environment)
    for name in _LENT:
        if SCRIPTS in found.get(name, ""):
            _give_back(found, name)
    if found.get(f"{_OURS}SCRIPT") == f"{SCRIPTS}/python.py":  # it must have the classic prompt
        _give_back(found, _BASIC_REPL)
    return {name: value for name, value in found.items() if not name.startswith(_OURS)}


def _give_back(environment: dict[str, str], name: str) -> None:
    users = environment.get(f"{_OURS}{name}")
    if users is None:
        environment.pop(name, None)
    else:
        environment[name] = users
