"""One request until its answer. Pure: the clients, sync and async, send and receive.

If the connection is lost before the answer, the same line is sent to the next daemon. It carries a
key, so that what the last daemon had begun is taken up and nothing is done twice.
"""

from __future__ import annotations

from typing import Any

from agent_pty.api.results import result
from agent_pty.errors import DaemonUnreachable
from agent_pty.ops import TABLE
from agent_pty.ops.op import PASSING, PROTOCOL, encode

# As often as the command line does it.
_MOST_LOSSES = 10
# A second daemon must not be stopped because the first one ended before its answer.
_ASKED_ONCE = frozenset({"shutdown"})


class Question:
    """Send *line*; then call `answer` with the line that comes back, or `lost`.

    *serial* must be another one for each question.
    """

    def __init__(self, op: str, fields: dict[str, Any], *, serial: str) -> None:
        given = {name: value for name, value in fields.items() if value is not None}
        if op in TABLE and TABLE[op].keyed:
            given.setdefault("key", PASSING + serial)
        self._op = op
        self._losses = 0
        self.line = encode(op, {**given, "v": PROTOCOL}) + b"\n"

    @property
    def ends_daemon(self) -> bool:
        """Whether it is asked once, and a daemon is started for it only to end what is left."""
        return self._op in _ASKED_ONCE

    def answer(self, line: bytes) -> Any:
        """Return the result, or raise the error that was answered."""
        return result(self._op, line)

    def lost(self) -> None:
        """The connection ended before the answer: return if the line must be sent again."""
        self._losses += 1
        if self.ends_daemon or self._losses > _MOST_LOSSES:
            raise self.gave_up()

    def gave_up(self) -> DaemonUnreachable:
        """Return the error for a question that gets no answer."""
        return DaemonUnreachable(
            f"the daemon went away during {self._op}; whether it acted is unknown",
            op=self._op,
            delivery="unknown",
        )
