"""The trace file of a daemon, as a test reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.agent import Agent

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


class TraceReader:
    """Gives the spans that were written since it was made, or since it was last asked."""

    def __init__(self, agent: Agent) -> None:
        self._path = Path(agent.layout.traces)
        self._seen = 0
        if self._path.exists():
            self.new()

    @classmethod
    def all_of(cls, agent: Agent) -> list[dict[str, Any]]:
        """Return every span of a file."""
        data = Path(agent.layout.traces).read_bytes()
        return [json.loads(line) for line in data.splitlines()]

    def new(self, op: str | None = None) -> list[dict[str, Any]]:
        """Return the new spans; those of one op if it is named."""
        data = self._path.read_bytes()[self._seen :]
        assert not data or data.endswith(b"\n")
        self._seen += len(data)
        spans = [json.loads(line) for line in data.splitlines()]
        return [one for one in spans if op is None or one["name"] == f"terminal.{op}"]

    def one(self, op: str) -> dict[str, Any]:
        """Return the only new span of an op."""
        [span] = self.new(op)
        return span
