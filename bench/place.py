"""Where a run puts things: a directory of its own, removed at its end."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field

PROMPT = "ready> "
SHELL = ["bash", "--norc", "--noprofile"]
# For who hands it to another shell, which would drop the prompt on the way.
SHELL_COMMAND = f"env PS1='{PROMPT}' bash --norc --noprofile"
# Told apart from the echo of what was typed: the shell adds the numbers.
UP = "echo up-$((1+1))"
_OURS = ("AGENT_PTY_SESSION", "AGENT_PTY_INSTANCE", "AGENT_PTY_SOCKET", "TMUX", "K_SESSION")


@dataclass(frozen=True, slots=True)
class Place:
    """A temporary directory, and the environment of everything that is started."""

    path: str
    env: dict[str, str]
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def name(self) -> str:
        """Return a name that nobody used before, not even another run."""
        return f"bench-{os.getpid()}-{next(self._numbers)}"

    def number(self) -> int:
        """Return a number that no earlier output shows."""
        return 1_000_000 + next(self._numbers)

    def folder(self) -> str:
        """Return a new directory."""
        return tempfile.mkdtemp(dir=self.path)


@contextlib.contextmanager
def place() -> Iterator[Place]:
    """Give a directory with a short path: sockets are in it."""
    path = tempfile.mkdtemp(prefix="bench-")
    env = {key: value for key, value in os.environ.items() if key not in _OURS}
    env |= {"HOME": path, "PS1": PROMPT, "HISTFILE": "", "TERM": "xterm-256color"}
    # No start-up file but ours: whoever measures has their own.
    env |= {"TMUX_TMPDIR": path, "BASH_SILENCE_DEPRECATION_WARNING": "1"}
    try:
        yield Place(path, env)
    finally:
        shutil.rmtree(path, ignore_errors=True)
