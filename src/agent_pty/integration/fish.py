"""fish: a command of ours that runs after the user's configuration."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from agent_pty.integration.injected import SCRIPTS, Injected

# With other options it runs no commands from the terminal, or records what it runs.
_LETTERS = re.compile(r"-[ilNP]+")
_NAMES = frozenset({"--interactive", "--login", "--no-config", "--private"})


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Add an initial command of ours after the caller's own initial commands."""
    options = list(argv[1:])
    while options:
        taken = _taken(options)
        if not taken:
            return None
        del options[:taken]
    # Quotes mean the same to fish as long as the path has no backslash.
    ours = ["-C", f"source {shlex.quote(SCRIPTS)}/fish.fish"]
    return Injected(argv=[*argv, *ours], env=dict(env), secret=nonce)


def _taken(options: Sequence[str]) -> int:
    """Return how many words the first option has; 0 if it cannot be combined with ours."""
    first = options[0]
    if first in _NAMES or _LETTERS.fullmatch(first) or first.startswith("--init-command="):
        return 1
    return 2 if first in {"-C", "--init-command"} and len(options) > 1 else 0
