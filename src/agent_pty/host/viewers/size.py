"""The size of a session while people with windows of their own are attached to it."""

from __future__ import annotations

from agent_pty.host.terminal.terminal import Terminal


class AttachedSize:
    """Lets people set the size, the latest of them; when the last has left, it is as before."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._people: set[object] = set()
        self._before = (0, 0)

    def enter(self, person: object, rows: int, cols: int) -> None:
        """A person has attached with a window of this size."""
        if not self._people:
            self._before = self._now
        self._people.add(person)
        self._terminal.resize(rows=rows, cols=cols)

    def follow(self, rows: int, cols: int) -> None:
        """The window of a person has another size; one who is not attached changes nothing."""
        if self._people:
            self._terminal.resize(rows=rows, cols=cols)

    def set(self, rows: int, cols: int) -> None:
        """Somebody else wants this size: it also stays when people leave."""
        self._before = (rows, cols)
        self._terminal.resize(rows=rows, cols=cols)

    def leave(self, person: object) -> None:
        """Somebody has left, perhaps one who did not set the size."""
        if self._people == {person}:
            self.close()
        self._people.discard(person)

    def close(self) -> None:
        """Everybody has left; must be called before the terminal is closed."""
        if self._people and self._terminal.running and self._now != self._before:
            self._terminal.resize(rows=self._before[0], cols=self._before[1])
        self._people.clear()

    @property
    def _now(self) -> tuple[int, int]:
        emulator = self._terminal.output.emulator
        return emulator.rows, emulator.cols
