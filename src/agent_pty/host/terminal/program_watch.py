"""Whether a session's program still runs, and whether the keeper will say how it ended."""

from __future__ import annotations

from collections.abc import Callable

from agent_pty.process import table
from agent_pty.process.exit_watch import ExitWatch
from agent_pty.process.tree import Root


class ProgramWatch:
    """Watches the program of a session from `start` on."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._watch: ExitWatch | None = None
        # False: nobody will report an exit code.
        self.keeper_reports = True

    def start(self, on_end: Callable[[], None]) -> None:
        """Call *on_end* when the program has ended."""
        self._watch = ExitWatch(self._root.pid, self._root.birth, on_end)

    def keeper_changed(self, pid: int | None) -> None:
        """There is another keeper, or none; the one that started the program reports its end."""
        self.keeper_reports = pid == self._root.keeper

    @property
    def alive(self) -> bool:
        """Whether the program runs, by the process table."""
        found = table.entry(self._root.pid)
        return found is not None and found.alive and self._root.birth in (None, found.birth)

    def close(self) -> None:
        """Watch no longer."""
        if self._watch is not None:
            self._watch.close()
