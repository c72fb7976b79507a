"""How long the foreground has looked the same, and whether its reader has done anything yet."""

from __future__ import annotations

from agent_pty.core.tty_state import Verdict
from agent_pty.host.cells.foreground import Reader


class Steadiness:
    """Counts equal verdicts, and remembers who read when something was typed."""

    def __init__(self) -> None:
        self._before: Reader | None = None
        self._verdict: Verdict | None = None
        self._same = 0

    def begin(self, reader: Reader | None) -> None:
        """A cell is typed now, and *reader* will get it."""
        self._verdict = None
        self.typed(reader)

    def typed(self, reader: Reader | None) -> None:
        """Something is typed now, and *reader* will get it."""
        self._before, self._same = reader, 0

    def reset(self) -> None:
        """The program wrote something: begin to count again."""
        self._same = 0

    def take(self, verdict: Verdict) -> int:
        """Return how often the verdict was the same before."""
        self._same = self._same + 1 if verdict is self._verdict else 0
        self._verdict = verdict
        return self._same

    def stirred(self, now: Reader | None) -> bool:
        """Whether the reader has done anything since the input; if not, it will."""
        then = self._before
        return now is None or then is None or (now.pid, now.naps) != (then.pid, then.naps)
