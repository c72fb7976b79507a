"""terminal-mcp: an MCP server, asked over its standard input and output."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from bench import install, wakeup
from bench.clock import poll, timed
from bench.contestant import Contestant, Measure
from bench.place import PROMPT, SHELL_COMMAND, Place

_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Server:
    """One server process and the conversation with it."""

    def __init__(self, place: Place) -> None:
        self._number = 0
        self._process = subprocess.Popen(
            [install.program("terminal-mcp", of="-terminal-mcp")],
            env=place.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._ask("initialize", _HELLO)
        self._tell({"method": "notifications/initialized"})

    def close(self) -> None:
        """Hang up, upon which it ends."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.read()
        self._process.wait()

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool and return its text."""
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        return "\n".join(part.get("text", "") for part in answer["content"])

    def _tell(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        assert self._process.stdout
        self._number += 1
        self._tell({"id": self._number, "method": method, "params": params})
        while line := self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._number:
                return answer["result"]
        raise EOFError("terminal-mcp has ended")


class TerminalMcp:
    """A server with a shell."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.server = Server(place)
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
        return Contestant(name="terminal-mcp", timed=self._timed())

    def _timed(self) -> dict[str, Measure]:
        return {
            "new_open": self._new,
            "trip_open": self._trip,
            "screen_open": lambda: timed(lambda: self._screen(self._shell)),
            "wake_open": self._wake,
        }

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
