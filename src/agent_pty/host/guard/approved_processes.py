"""Which processes may do what was approved for them, and which asked for the same in vain.

An approval of a program covers what it executes in its turn for the same rule: `sh -c` with an rm
in it, or a search through PATH. After a refusal some shells try the next directory of PATH.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from agent_pty.process.exec_look import Ancestor

_MOST = 1000
_Key = tuple[int, float]


class ApprovedProcesses:
    """Remembers the last ones; of what is forgotten somebody is asked again."""

    def __init__(self) -> None:
        self._approved: OrderedDict[tuple[_Key, str | None], None] = OrderedDict()
        self._refused: OrderedDict[tuple[_Key, tuple[str, ...]], None] = OrderedDict()

    def add(self, row: Sequence[Ancestor], rule: str | None) -> None:
        """Note that a process, the first of its row, was approved."""
        for process in row[:1]:
            self._approved[process.key, rule] = None
        while len(self._approved) > _MOST:
            self._approved.popitem(last=False)

    def covers(self, row: Sequence[Ancestor], rule: str | None) -> bool:
        """Whether a process or one of its ancestors was approved for this rule."""
        return any((one.key, rule) in self._approved for one in row)

    def note_refused(self, row: Sequence[Ancestor], argv: Sequence[str]) -> None:
        """Note that a process was refused."""
        for process in row[:1]:
            self._refused[process.key, tuple(argv)] = None
        while len(self._refused) > _MOST:
            self._refused.popitem(last=False)

    def was_refused(self, row: Sequence[Ancestor], argv: Sequence[str]) -> bool:
        """Whether the same process was refused the same."""
        return any((one.key, tuple(argv)) in self._refused for one in row[:1])
