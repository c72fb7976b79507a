"""Shell integration: start a program so that it marks its prompts and commands.

Nothing that belongs to the user is changed: marks are set up by arguments and environment, after
the user's own start-up files ran. One file per program; what the marks mean is in `core.mark`.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence

from agent_pty.integration import (
    bash,
    dash,
    fish,
    gdb,
    ipython,
    node,
    psql,
    python,
    sqlite3,
    zsh,
)
from agent_pty.integration.injected import Inject, Injected

_KNOWN: dict[str, Inject] = {
    "bash": bash.inject,
    "dash": dash.inject,
    "fish": fish.inject,
    "gdb": gdb.inject,
    "ipython": ipython.inject,
    "node": node.inject,
    "psql": psql.inject,
    "python": python.inject,
    "sqlite3": sqlite3.inject,
    "zsh": zsh.inject,
}
_ALIASES = {"ash": "dash", "nodejs": "node", "sqlite": "sqlite3"}
_VERSION = re.compile(r"-?[0-9.]+$")


def integrate(
    argv: Sequence[str], env: Mapping[str, str], nonce: str, *, wanted: bool = True
) -> tuple[str | None, Injected]:
    """Return which program *argv* is and how to start it with marks; None: as it is, no marks.

    *env* is the whole environment of the program; it is in the result too.
    """
    name = program(argv[0], path=env.get("PATH")) if wanted else None
    injected = _KNOWN[name](argv, env, nonce) if name is not None else None
    if injected is None:
        return None, Injected(argv=list(argv), env=dict(env))
    return name, injected


def program(word: str, *, path: str | None = None) -> str | None:
    """Return which known program a command word names, whatever its link or version.

    `sh` is a second name of another shell, `python3.12` a version of `python`. *path* is the PATH
    by which it will be found; default: our own.
    """
    file = shutil.which(word, path=path) or word
    names = [os.path.basename(word), os.path.basename(os.path.realpath(file))]
    for name in names:
        plain = name if name in _KNOWN else _VERSION.sub("", name)
        if (known := _ALIASES.get(plain, plain)) in _KNOWN:
            return known
    return None
