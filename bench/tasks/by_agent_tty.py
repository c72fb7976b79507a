"""An agent with agent-tty 0.1.0: cells by its `k`, and tmux for what `k` has no word for."""

from __future__ import annotations

import json
import os
from typing import Any

from bench import install
from bench.tasks.by_tmux import TmuxAgent, pauses
from bench.tasks.tool import Answer, Failed, Tool

_TRIES = 3


class AgentTtyAgent:
    """Its sessions are sessions of tmux: there it finds keys and screens."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        # Its state is in one directory for the whole machine: two runs must not meet there.
        self._suffix = f"-{os.getpid()}"
        self.tmux = TmuxAgent(tool)

    def k(self, verb: str, *options: str, session: str, rest: tuple[str, ...] = ()) -> Answer:
        """Run `k`: a verb, its options, the session, the rest."""
        argv = [install.program("k"), verb, *options, session + self._suffix, *rest]
        return self._tool.call(argv, hidden=len(self._suffix))

    def new(self, session: str, *words: str) -> None:
        """Start a session."""
        self.k("new", session=session, rest=words).need("OK")

    def run(self, session: str, code: str, *options: str) -> str:
        """Run a cell; one that is lost by a prompt cut in two is stopped and run again."""
        for _ in range(_TRIES):
            said = self.cell(session, code, *options)
            if said["status"] == "done":
                return str(said["output"])
            self.stop(session)
        raise Failed(f"{code!r} did not end")

    def cell(self, session: str, code: str, *options: str) -> dict[str, Any]:
        """Run a cell and return the object that says how it ended."""
        answer = self.k("run", "-j", *options, session=session, rest=(code,))
        # What tmux complains of stands before the object.
        said: dict[str, Any] = json.loads(answer.text.splitlines()[-1])
        return said

    def fire(self, session: str, code: str) -> str:
        """Start a cell and return its id."""
        answer = self.k("fire", session=session, rest=(code,))
        return str(json.loads(answer.text)["cell_id"])

    def poll(self, session: str) -> str:
        """Ask again and again until the fired cell has ended; return its output."""
        for pause in pauses():
            said = json.loads(self.k("poll", session=session).text)
            if said["status"] == "done":
                return str(said["output"])
            pause()
        raise Failed(f"the cell of {session} did not end")

    def await_end(self, session: str, cell: str) -> None:
        """Sleep until a cell that still runs has ended."""
        argv = [install.program("km"), session + self._suffix, cell, "-1"]
        self._tool.call(argv, hidden=len(self._suffix)).need("done")

    def history(self, session: str, sign: str) -> str:
        """Look at the log again and again until *sign* is in it."""
        for pause in pauses():
            seen = self.k("history", session=session).text
            if sign in seen:
                return seen
            pause()
        raise Failed(f"{sign!r} never showed")

    def stop(self, session: str) -> None:
        """Press Ctrl-C."""
        self.k("int", session=session)

    def end(self, *sessions: str) -> None:
        """End sessions."""
        for session in sessions:
            self.k("kill", session=session)
