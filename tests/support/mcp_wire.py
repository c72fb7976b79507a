"""An MCP client byte by byte: it sends what it is told to, and reads when it is told to."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from typing import Any

from support.agent import AGENT_PTY, Agent

_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "wire", "version": "0"},
}


class McpWire:
    """A running `mcp-stdio`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def put(self, line: bytes) -> None:
        """Send a line as it is."""
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def post(self, method: str, number: Any = None, **params: Any) -> None:
        """Send a message; without a number it is a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.put(json.dumps(message if number is None else {**message, "id": number}).encode())

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        """Call a tool, and do not wait for its result."""
        self.post("tools/call", number, name=tool, arguments=arguments)

    def answer(self) -> dict[str, Any]:
        """Return the next message, which must be JSON-RPC."""
        message: dict[str, Any] = json.loads(self.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        return message

    def answers(self, count: int) -> dict[Any, dict[str, Any]]:
        """Return the next messages by their ids."""
        return {message.get("id"): message for message in (self.answer() for _ in range(count))}

    def greet(self) -> None:
        """Say hello as a whole client does, so that requests run beside each other."""
        self.post("initialize", 0, **_HELLO)
        assert "result" in self.answer()
        self.post("notifications/initialized")


@contextlib.contextmanager
def mcp_wire(agent: Agent, *words: str) -> Iterator[McpWire]:
    """Start one; it ends with the block."""
    command = [AGENT_PTY, "mcp-stdio", *words]
    with subprocess.Popen(
        command, env=agent.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield McpWire(process)
        finally:
            process.kill()
