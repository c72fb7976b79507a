"""A client that ends the sessions it has made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_pty.api.client import Client
from agent_pty.errors import UnknownSession

if TYPE_CHECKING:
    import os

    from agent_pty.ops.model import Process


class ReapingClient(Client):
    """As `Client`; `reap` kills every session that `new` and `exec` have made, and no other."""

    def __init__(self, *, home: str | os.PathLike[str] | None = None) -> None:
        super().__init__(home=home)
        self._instances: set[str] = set()
        self._names: set[str] = set()

    def ask(self, op: str, /, **fields: Any) -> Any:
        """Return the answer of an op, and remember what it made."""
        answer = super().ask(op, **fields)
        if op == "new":
            self._instances.add(answer.instance)
        if op == "exec" and answer.session is not None:
            self._names.add(answer.session)
        return answer

    def reap(self) -> list[Process]:
        """Kill the sessions; return the processes that could not be ended."""
        if not self._instances and not self._names:
            return []
        survivors: list[Process] = []
        for one in self.list():
            if one.instance in self._instances or one.id in self._names:
                survivors += self._killed(one.id)
        self._instances.clear()
        self._names.clear()
        return survivors

    def _killed(self, name: str) -> list[Process]:
        try:
            return self.session(name).kill().survivors
        except UnknownSession:  # by somebody else, just now
            return []
