"""One task: what is there at first, a script per tool, and how one sees that it was done."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import PtyAgent
from bench.tasks.by_tmux import TmuxAgent


@dataclass(frozen=True, slots=True)
class Folder:
    """The directory of a task."""

    path: str

    def write(self, name: str, text: str) -> None:
        """Write a file; a script may be executed."""
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if text.startswith("#!"):
            os.chmod(path, stat.S_IRWXU)

    def read(self, name: str) -> str:
        """Read a file."""
        with open(os.path.join(self.path, name), encoding="utf-8") as file:
            return file.read()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What to do, and how each tool does it.

    A script returns what its agent reports at the end. *check* raises if that, or the directory,
    is not as it must be.
    """

    name: str
    prepare: Callable[[Folder], None]
    check: Callable[[Folder, str], None]
    ours: Callable[[KAgent], str]
    pty: Callable[[PtyAgent], str]
    agent_tty: Callable[[AgentTtyAgent], str]
    tmux: Callable[[TmuxAgent], str]
    needs: tuple[str, ...] = ()
