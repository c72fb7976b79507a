"""What a line of shell text runs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_pty.core.policy.carried_out import base
from agent_pty.core.policy.family import families
from agent_pty.core.policy.shell_run import Follower
from agent_pty.core.policy.shell_scope import Scope

if TYPE_CHECKING:
    from agent_pty.core.policy.followed import Followed

LONGEST = 65_536


def followed_line(text: str) -> tuple[Followed, Scope] | None:
    """Return what a line runs, and what the shell remembers of it; None: it is too deep."""
    scope = Scope()
    follower = Follower(scope)
    try:
        follower.follow(text[:LONGEST])
    except RecursionError:
        return None
    return follower.found, scope


def runs(text: str, words: tuple[str, ...]) -> bool:
    """Tell whether a line has a command that begins with these words.

    >>> runs("cd src && .venv/bin/pytest -q", ("pytest",)), runs("echo pytest", ("pytest",))
    (True, False)
    """
    found = followed_line(text)
    if found is None:
        return False
    return any(begins(command.argv, words) for command in found[0].commands)


def begins(argv: list[str], words: tuple[str, ...]) -> bool:
    """Compare words; the directory of a program does not matter unless it is asked for."""
    if not argv:
        return False
    name = argv[0] if "/" in words[0] else base(argv[0])
    return [name, *argv[1 : len(words)]] == list(words)


def labels(text: str) -> set[str]:
    """Return the built-in rules that commands of a line fall under."""
    found = followed_line(text)
    if found is None:
        return set()
    return {label for command in found[0].commands for label in families(command, found[1])}
