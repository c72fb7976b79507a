"""terminal-mcp: an MCP server, asked over its standard input and output."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator

from bench import install, wakeup
from bench.clock import poll, timed
from bench.contestant import Contestant, Measure
from bench.mcp_client import McpServer, ready, schema_bytes
from bench.place import PROMPT, SHELL_COMMAND, Place

ENVIRONMENT = "-terminal-mcp"


class TerminalMcp:
    """A server with a shell."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._argv = [install.program("terminal-mcp", of=ENVIRONMENT)]
        self.server = McpServer(self._argv, env=place.env)
        self._shell, self._clock = self._ready(), self._ready()

    def _ready(self) -> str:
        """Start a shell. Its wait loses what came before the call, so look at the screen."""
        made = self.server.call("session_create", command=SHELL_COMMAND)
        session = str(json.loads(made)["session_id"])
        poll(lambda: self._screen(session), PROMPT.rstrip())
        return session

    def _screen(self, session: str) -> str:
        return self.server.call("session_read", session_id=session, mode="snapshot")

    def _interact(self, session: str, line: str, pattern: str) -> str:
        seen = self.server.call(
            "session_interact", session_id=session, input=line, wait_for=pattern, timeout=30
        )
        assert json.loads(seen).get("matched", True), seen
        return seen

    def contestant(self) -> Contestant:
        """Return what it can do."""
        return Contestant(
            name="terminal-mcp",
            timed=self._timed(),
            schema=lambda: schema_bytes(self.server.tools),
        )

    def _timed(self) -> dict[str, Measure]:
        return {
            "new_open": self._new,
            "trip_open": self._trip,
            "screen_open": lambda: timed(lambda: self._screen(self._shell)),
            "wake_open": self._wake,
            # It has one way to start, whatever runs already.
            "mcp_ready": self._start,
            "mcp_cold": self._start,
            # Its `session_exec` always waits for five seconds. This is its fastest call.
            "mcp_exec": self._trip,
            "mcp_send": self._trip,
        }

    def _start(self) -> float:
        return ready(self._argv, env=self._place.env)

    def _new(self) -> float:
        start = time.perf_counter()
        session = self._ready()
        taken = time.perf_counter() - start
        self.server.call("session_close", session_id=session)
        return taken

    def _trip(self) -> float:
        number = self._place.number()
        line, answer = f"echo t-$(({number}+1))", f"t-{number + 1}"
        return timed(lambda: self._interact(self._shell, line, answer))

    def _wake(self) -> float:
        number = self._place.number()
        line = f"sleep {wakeup.PAUSE}; echo W{number}-$(date +%s%N)."
        seen = self._interact(self._clock, line, rf"W{number}-(\d+)\.")
        found = re.search(rf"W{number}-(\d+)\.", seen)
        assert found, seen
        return (time.time_ns() - int(found[1])) / 1e9


@contextlib.contextmanager
def enter(place: Place) -> Iterator[Contestant]:
    """Start a server and stop it at the end."""
    peer = TerminalMcp(place)
    try:
        yield peer.contestant()
    finally:
        peer.server.close()
