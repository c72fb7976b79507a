"""Whether an `rm` deletes only what builds may delete: inside the workspace, or temporary files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from agent_pty.core.policy.option import operands_of

_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108  they are looked at, nothing is written there


def is_build_output(argv: Sequence[str], cwd: str, workspace: str, home: str) -> bool:
    """Whether everything that this `rm` names is inside, by its real path.

    A workspace that has the user's home in it, or is the home itself, does not count. Nor do its
    own directory and its `.git`.
    """
    named = operands_of(list(argv[1:]))
    return bool(named) and all(
        _is_inside(_real(one, cwd), os.path.realpath(workspace), os.path.realpath(home))
        for one in named
    )


def _real(path: str, cwd: str) -> str:
    """Return what `rm` would delete: a link itself, not what it leads to."""
    whole = os.path.join(cwd, path)
    directory, name = os.path.split(whole)
    if name in ("", ".", ".."):
        return os.path.realpath(whole)
    return os.path.join(os.path.realpath(directory), name)


def _is_inside(path: str, workspace: str, home: str) -> bool:
    if any(_is_below(path, os.path.realpath(one)) for one in _TEMPORARY):
        return True
    if workspace == home or _is_below(home, workspace):
        return False
    git = os.path.join(workspace, ".git")
    return _is_below(path, workspace) and path != git and not _is_below(path, git)


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip("/") + "/")
