"""An MCP server as a process, and the conversation with it over its pipes."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

# Every server that is measured speaks this version.
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class McpServer:
    """One server process, greeted and asked for its tools, as every client begins."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None = None
    ) -> None:
        self._number = 0
        self._name = argv[0]
        self._process = subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            self._ask("initialize", _HELLO)
            self._tell({"method": "notifications/initialized"})
            self.tools: list[dict[str, Any]] = self._ask("tools/list", {})["tools"]
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up, upon which it ends."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.read()
        self._process.stdout.close()
        self._process.wait()

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool and return its text, also that of a refusal."""
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
            if answer.get("id") != self._number or "method" in answer:
                continue
            if "result" not in answer:
                raise ValueError(f"{self._name} refuses {method}: {answer.get('error')}")
            return answer["result"]
        raise EOFError(f"{self._name} has ended")


def ready(argv: Sequence[str], *, env: Mapping[str, str]) -> float:
    """Return the seconds from the start of a server until its tools are known."""
    start = time.perf_counter()
    with McpServer(argv, env=env):
        return time.perf_counter() - start


def schema_bytes(tools: Sequence[Mapping[str, Any]]) -> int:
    """Return what a model is sent of these tools at every turn: name, description, arguments."""
    kept = ("name", "description", "inputSchema")
    brief = [{key: tool[key] for key in kept if key in tool} for tool in tools]
    return len(json.dumps(brief, separators=(",", ":"), ensure_ascii=False).encode())
