"""libtmux-mcp: an MCP server over a tmux server of our own, asked over its pipes."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from bench import install
from bench.clock import poll, timed
from bench.contestant import Contestant, Measure
from bench.mcp_client import McpServer, ready, schema_bytes
from bench.place import PROMPT, SHELL_COMMAND, Place

ENVIRONMENT = "-libtmux-mcp"


class LibTmuxMcp:
    """A server with a pane in which a shell runs."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._socket = place.name()
        self._argv = [install.program("libtmux-mcp", of=ENVIRONMENT)]
        self.server = McpServer(self._argv, env=place.env)
        self._pane = self._ready()

    def _call(self, tool: str, **arguments: Any) -> str:
        return self.server.call(tool, socket_name=self._socket, **arguments)

    def _ready(self) -> str:
        """Start a shell. Its wait loses what came before the call, so look at the screen."""
        name = self._place.name()
        made = json.loads(self._call("create_session", session_name=name, x=80, y=24))
        pane = str(made["active_pane_id"])
        self._call("respawn_pane", pane_id=pane, kill=True, shell=SHELL_COMMAND)
        poll(lambda: self._screen(pane), PROMPT.rstrip())
        return pane

    def _screen(self, pane: str) -> str:
        return self._call("capture_pane", pane_id=pane)

    def contestant(self) -> Contestant:
        """Return what it can do."""
        return Contestant(
            name="libtmux-mcp",
            timed=self._timed(),
            schema=lambda: schema_bytes(self.server.tools),
        )

    def _timed(self) -> dict[str, Measure]:
        return {
            "trip_open": self._trip,
            "screen_open": lambda: timed(lambda: self._screen(self._pane)),
            # It has one way to start, whatever runs already.
            "mcp_ready": self._start,
            "mcp_cold": self._start,
            "mcp_exec": self._trip,
            "mcp_send": self._trip,
        }

    def _start(self) -> float:
        return ready(self._argv, env=self._place.env)

    def _trip(self) -> float:
        number = self._place.number()
        start = time.perf_counter()
        seen = self._call("run_command", pane_id=self._pane, command=f"echo t-$(({number}+1))")
        taken = time.perf_counter() - start
        assert f"t-{number + 1}" in seen, seen
        return taken

    def close(self) -> None:
        """End both servers."""
        self.server.close()
        argv = ["tmux", "-L", self._socket, "kill-server"]
        subprocess.run(argv, env=self._place.env, capture_output=True, check=False)


@contextlib.contextmanager
def enter(place: Place) -> Iterator[Contestant]:
    """Start a server and stop it at the end."""
    peer = LibTmuxMcp(place)
    try:
        yield peer.contestant()
    finally:
        peer.close()
