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
from bench.clock import timed
from bench.contestant import Contestant, Measure
from bench.place import PROMPT, Place

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
        self._shell = self._make("bash --norc --noprofile")
        self._await(self._shell, PROMPT)
        self._clock = self._make("bash --norc --noprofile")
        self._await(self._clock, PROMPT)

    def _make(self, command: str) -> str:
        made = self.server.call("session_create", command=command)
        return str(json.loads(made)["session_id"])

    def _await(self, session: str, pattern: str) -> str:
        return self.server.call("session_wait_for", session_id=session, pattern=pattern, timeout=30)

    def contestant(self) -> Contestant:
        """Return what it can do."""
        return Contestant(name="terminal-mcp", timed=self._timed())

    def _timed(self) -> dict[str, Measure]:
        return {
            "new_open": self._new,
            "trip_open": self._trip,
            "screen_open": self._look,
            "wake_open": self._wake,
        }

    def _new(self) -> float:
        start = time.perf_counter()
        session = self._make("bash --norc --noprofile")
        self._await(session, PROMPT)
        taken = time.perf_counter() - start
        self.server.call("session_close", session_id=session)
        return taken

    def _trip(self) -> float:
        number = self._place.number()
        start = time.perf_counter()
        self.server.call("session_send", session_id=self._shell, input=f"echo t-$(({number}+1))")
        seen = self._await(self._shell, f"t-{number + 1}")
        taken = time.perf_counter() - start
        assert f"t-{number + 1}" in seen, seen
        return taken

    def _look(self) -> float:
        return timed(
            lambda: self.server.call("session_read", session_id=self._shell, mode="snapshot")
        )

    def _wake(self) -> float:
        number = self._place.number()
        command = f"sleep {wakeup.PAUSE}; echo W{number}-$(date +%s%N)."
        self.server.call("session_send", session_id=self._clock, input=command)
        seen = self._await(self._clock, rf"W{number}-(\d+)\.")
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
