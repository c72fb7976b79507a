"""How often each program was executed: recorded as counts, because builds execute thousands."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from agent_pty.core.evidence.event import GuardedPrograms

_MOST = 1000
_SECONDS = 10.0


class ExecutedPrograms:
    """Counts by path; *note* gets the counts after some execs or seconds, and at each `flush`."""

    def __init__(
        self, note: Callable[[GuardedPrograms], None], cell_id: Callable[[], str | None]
    ) -> None:
        self._note = note
        self._cell_id = cell_id
        self._counts: Counter[str] = Counter()
        self._total = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, path: str) -> None:
        """Count one exec."""
        self._counts[path] += 1
        self._total += 1
        if self._total >= _MOST:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SECONDS, self.flush)

    def flush(self, cell_id: str | None = None) -> None:
        """Record what was counted; *cell_id*: the cell that has just ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._counts:
            counts, self._counts = dict(sorted(self._counts.items())), Counter()
            self._total = 0
            self._note(GuardedPrograms(programs=counts, cell_id=cell_id or self._cell_id()))
