"""A model that calls the six `pty_*` tools, by the SDK's own client over `agent-pty mcp-stdio`."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from typing import Any

from mcp import Client, StdioServerParameters

from support.agent import AGENT_PTY, Agent

SECONDS = 100
LONG = 30_000


class Model:
    """Calls tools as a model does, on one connection."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._left = asyncio.Event()
        self._client: Client | None = None
        ready: threading.Event = threading.Event()
        self._thread.start()
        self._served = asyncio.run_coroutine_threadsafe(self._serve(ready), self._loop)
        assert ready.wait(SECONDS)

    async def _serve(self, ready: threading.Event) -> None:
        words = ["mcp-stdio", "--tools", "pty"]
        server = StdioServerParameters(command=AGENT_PTY, args=words, env=self.agent.env)
        async with Client(server) as client:
            self._client = client
            ready.set()
            await self._left.wait()

    def result(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """Call a tool; return its text and whether it failed."""
        assert self._client is not None
        calling = self._client.call_tool(tool, arguments)
        result = asyncio.run_coroutine_threadsafe(calling, self._loop).result(SECONDS)
        return result.content[0].model_dump()["text"], bool(result.is_error)

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must not fail."""
        text, failed = self.result(tool, **arguments)
        assert not failed, text
        return text

    def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must fail."""
        text, failed = self.result(tool, **arguments)
        assert failed, text
        return text

    def start(self, *argv: str, **arguments: Any) -> str:
        """Start a program; return its session id."""
        text = self.call("pty_start", command=argv[0], args=list(argv[1:]), **arguments)
        return fact(text, "id")

    def tools(self) -> list[Any]:
        """Return the tools as the server lists them."""
        assert self._client is not None
        listing = self._client.list_tools()
        return list(asyncio.run_coroutine_threadsafe(listing, self._loop).result(SECONDS).tools)

    def leave(self) -> None:
        """Hang up."""
        self._loop.call_soon_threadsafe(self._left.set)
        self._served.result(SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()


def fact(text: str, name: str) -> str:
    """Return what a bracket of the footer says."""
    found = re.findall(rf"\[{name}: ([^]]*)\]", text)
    assert found, text
    return str(found[-1])


def cursor(text: str) -> int:
    """Return the cursor, which is in the last line."""
    return int(fact(text.splitlines()[-1], "cursor"))


def output(text: str) -> str:
    """Return what is before the footer."""
    return text.rpartition("[session: ")[0]


def bash(model: Model) -> str:
    """Start a shell that is at its prompt."""
    name = model.start("bash", "--norc", "--noprofile")
    model.call("pty_read", id=name, until="prompt", wait_ms=LONG)
    return name


def python(model: Model, code: str) -> str:
    """Start a Python program."""
    return model.start(sys.executable, "-c", code)
