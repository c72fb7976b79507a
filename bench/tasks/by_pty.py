"""An agent with the six `pty_*` tools, as an MCP client offers them to a model."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from bench.mcp_client import McpServer
from bench.ours import Ours
from bench.tasks.tool import Answer, Failed, Tool

# Upper bounds: a wait ends when there is something to see, one for a sign when it shows.
_WAIT_MS = 5_000
_LONG_MS = 30_000
_MOST_READS = 10
# The prompt of the shell, which the start-up file of a task sets.
PROMPT = "ready> "


class PtyAgent:
    """Knows what the definitions of the tools say, and nothing else."""

    def __init__(self, tool: Tool, server: McpServer, us: Ours) -> None:
        self._tool = tool
        self._server = server
        self._us = us
        # Where each session was read up to: an agent finds it at the end of every answer.
        self._cursors: dict[str, int] = {}

    def call(self, name: str, **arguments: Any) -> Answer:
        """Call a tool."""
        typed = [name, json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)]
        answer = self._tool.count(typed, lambda: (self._server.call(name, **arguments).encode(), 0))
        found = re.search(r"\[id: (\S+)\].*\n\[cursor: (\d+)\]$", answer.text)
        if found is not None:
            self._cursors[found[1]] = int(found[2])
        return answer

    def exec(self, command: str, *args: str, **limits: int) -> Answer:
        """Run a program to its end."""
        return self.call("pty_exec", command=command, **_given(args), **limits)

    def line(self, line: str, **limits: int) -> Answer:
        """Run a line of a shell to its end."""
        return self.exec("bash", "-c", line, **limits)

    def start(self, command: str, *args: str, until: str | None = None) -> tuple[str, str]:
        """Start a program and look until *until* shows; return its session and what is seen."""
        wanted = {} if until is None else {"until": until, "wait_ms": _LONG_MS}
        started = _sure(self.call("pty_start", command=command, **_given(args), **wanted))
        found = re.match(r"started (\w+):.*\n", started.text)
        if found is None:
            raise Failed(f"nothing was started: {started.text!r}")
        return found[1], started.text[found.end() :]

    def read(self, session: str, **wanted: Any) -> Answer:
        """Read what is new, if need be after a wait."""
        since = {"since": self._cursors[session]} if self._cursors.get(session) else {}
        return self.call("pty_read", id=session, **since, wait_ms=_LONG_MS, **wanted)

    def read_to_end(self, session: str, **wanted: Any) -> Answer:
        """Read when the program has ended; ask again if that takes longer than a wait may."""
        for _ in range(_MOST_READS):
            answer = self.read(session, until="exit", **wanted)
            if "[session: exited]" in answer.text:
                return answer
        raise Failed(f"{session} does not end")

    def send(self, session: str, text: str, **options: Any) -> Answer:
        """Type a line with Enter and look at what it does."""
        asked = {"id": session, "input": text, "submit": True, **_bounded(options)}
        return _sure(self.call("pty_send", **asked))

    def press(self, session: str, *keys: str, text: str = "", **options: Any) -> Answer:
        """Press keys, after a text without Enter, and look at what they do."""
        asked = {"id": session, "input": text, **_bounded(options)}
        return _sure(self.call("pty_send", **asked, **({"keys": list(keys)} if keys else {})))

    def stop(self, session: str) -> Answer:
        """End a session."""
        return self.call("pty_stop", id=session)

    def person_types(self, session: str, text: str) -> None:
        """Let the user type what a model must not: no call of the agent."""
        with self._us.connect() as connection:
            connection.ask("secret", id=session, value=text)


def _sure(answer: Answer) -> Answer:
    """Refuse an answer that names the sign only to say that it did not show."""
    if "did not come true]" in answer.text:
        raise Failed(answer.text[-2000:])
    return answer


def _bounded(options: dict[str, Any]) -> dict[str, Any]:
    return {"wait_ms": _LONG_MS if "until" in options else _WAIT_MS, **options}


def _given(args: Sequence[str]) -> dict[str, list[str]]:
    return {"args": list(args)} if args else {}


@contextlib.contextmanager
def pty_agent(tool: Tool, us: Ours) -> Iterator[PtyAgent]:
    """Start the server of a client in the directory of a task."""
    argv = [f"{us.programs}/agent-pty", "mcp-stdio", "--tools", "pty"]
    with McpServer(argv, env=tool.env, cwd=tool.folder) as server:
        yield PtyAgent(tool, server, us)
