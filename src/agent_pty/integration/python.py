"""python: a PYTHONSTARTUP of ours that runs the user's own first.

The classic prompt is used with 3.13 and later too: the new one draws its line by itself. Marks
survive a new sys.ps1 or a new sys.ps2, but not both set in one line.
"""

from __future__ import annotations

import ast
import codeop
import os
from collections.abc import Mapping, Sequence

from agent_pty.integration.injected import SCRIPTS, Injected

# What cannot be typed as one simple line is written to a file, and this is typed. It begins with
# mark C and is not in the history.
LOAD = "__cell__({path!r})"

_LONGEST = 1000
# Options of one letter that leave Python interactive and let it read PYTHONSTARTUP (-E and -I do
# not); some may be written as one word, as in `-qB`.
_FLAGS = "BOPRSbiqsu"
_WITH_VALUE = "WX"


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Put our file into PYTHONSTARTUP and ask for the classic prompt."""
    if not _is_interactive(argv[1:]) or os.path.basename(argv[0]).startswith("python2"):
        return None
    added = {**startup("python.py", env), **lent("PYTHON_BASIC_REPL", "1", env)}
    return Injected(argv=list(argv), env={**env, **added}, secret=nonce)


def startup(script: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that makes Python and IPython run *script* when they start."""
    return {
        **lent("PYTHONSTARTUP", f"{SCRIPTS}/startup.py", env),
        "AGENT_PTY_SCRIPT": f"{SCRIPTS}/{script}",
    }


def lent(name: str, value: str, env: Mapping[str, str]) -> dict[str, str]:
    """Set a variable, and keep the user's value in another, from which our script restores it."""
    users = env.get(name)
    kept = {} if users is None else {f"AGENT_PTY_{name}": users}
    return {name: value, **kept}


def is_simple(code: str) -> bool:
    """Say whether *code* is one line that can be typed as it is and runs with one Enter.

    Control characters, tab included, are commands to readline.
    """
    if not (code.isprintable() and 0 < len(code) < _LONGEST) or code[0] == " " or code[-1] == "\\":
        return False
    try:
        # Python answers a comment alone with a continuation prompt: complete, but no statement.
        return codeop.compile_command(code) is not None and bool(ast.parse(code).body)
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
        return False


def _is_interactive(options: Sequence[str]) -> bool:
    words = iter(options)
    for word in words:
        option = word[1:].lstrip(_FLAGS)
        if word[:1] != "-" or word == "-" or (option and option[0] not in _WITH_VALUE):
            return False
        if len(option) == 1 and next(words, None) is None:
            return False
    return True
