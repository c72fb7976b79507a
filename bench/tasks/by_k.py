"""An agent with our `k`."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from bench.tasks.tool import Answer, Failed, Tool


class KAgent:
    """Knows what `SKILL.md` says, and nothing else."""

    def __init__(self, tool: Tool, programs: str) -> None:
        self._tool = tool
        self._programs = programs

    def k(self, *words: str) -> Answer:
        """Run `k`."""
        return self._tool.call([os.path.join(self._programs, "k"), *words])

    def new(self, *words: str) -> None:
        """Start a session."""
        self.k("new", *words).need(f"OK {words[0]}")

    def json(self, *words: str) -> dict[str, Any]:
        """Run `k` and read the object that it printed."""
        found = re.search(r"^\{.*\}$", self.k(*words).text, flags=re.MULTILINE)
        if found is None:
            raise Failed(f"no object in the answer to {words}")
        said: dict[str, Any] = json.loads(found[0])
        return said
