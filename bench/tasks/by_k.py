"""An agent with our `k`."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from agent_pty import Client
from bench.tasks.tool import Answer, Failed, Tool


class KAgent:
    """Knows what `SKILL.md` says, and nothing else."""

    def __init__(self, tool: Tool, programs: str) -> None:
        self._tool = tool
        self._programs = programs

    def k(self, *words: str) -> Answer:
        """Run `k`."""
        return self._tool.call([os.path.join(self._programs, "k"), *words])

    def new(self, session: str, *command: str, **options: int) -> None:
        """Start a session."""
        size = [word for name, count in options.items() for word in (f"--{name}", str(count))]
        self.k("new", *size, session, *command).need(f"OK {session}")

    def person_enters(self, session: str, text: str) -> None:
        """Let the user type what an agent must not: no call of the agent."""
        with Client(home=self._tool.env["AGENT_PTY_HOME"], start=False) as client:
            client.ask("secret", id=session, value=text)

    def json(self, *words: str) -> dict[str, Any]:
        """Run `k` and read the object that it printed."""
        found = re.search(r"^\{.*\}$", self.k(*words).text, flags=re.MULTILINE)
        if found is None:
            raise Failed(f"no object in the answer to {words}")
        said: dict[str, Any] = json.loads(found[0])
        return said
