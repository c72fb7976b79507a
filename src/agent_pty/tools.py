"""The six `pty_*` tools for Python programs: definitions for a model's API, and their calls.

    from agent_pty import tools

    model.create(tools=tools.definitions("anthropic"), ...)
    text = tools.call("pty_exec", {"command": "make", "args": ["test"]})

The sessions are those of every other surface. Importing this loads nothing; the first use does.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # type checkers know it by its name; `typing` takes 5 ms to import
if TYPE_CHECKING:
    from typing import Any

    from agent_pty.api.async_client import AsyncClient
    from agent_pty.api.client import Client
    from agent_pty.words.tools.definition import Format
    from agent_pty.words.tools.tool import Tool, ToolOps, ToolResult

__all__ = ["ToolBox", "call", "default_box", "definitions"]

_default: ToolBox | None = None


def definitions(format: Format = "anthropic") -> list[dict[str, Any]]:  # noqa: A002  as in the CLI
    """Return the six as `anthropic`, `openai` or `mcp` declares tools.

    >>> [one["name"] for one in definitions("anthropic")][:2]
    ['pty_exec', 'pty_start']
    """
    from agent_pty.words.tools.definition import definitions as made  # noqa: PLC0415

    return made(format)


def call(name: str, args: dict[str, Any] | None = None) -> str:
    """Call a tool as this process's own client; return the text for the model.

    What a model did wrong is in the text, too, with the corrected call. An unknown tool raises
    `LookupError`.
    """
    return default_box().call(name, args)


def default_box() -> ToolBox:
    """Return the tools of this process's own client, which `call` uses."""
    global _default  # noqa: PLW0603  one client per process, made when it is first needed
    if _default is None:
        import atexit  # noqa: PLC0415  importing us loads nothing

        _default = ToolBox()
        atexit.register(_default.close)
    return _default


class ToolBox:
    """The six tools of one client, which is told of the exits of its own sessions.

    *client* chooses the daemon; by default it is the one that `agent-pty` uses here. Calls of one
    box wait for each other; boxes in several threads do not.
    """

    def __init__(self, client: Client | None = None) -> None:
        from threading import Lock  # noqa: PLC0415  importing us loads nothing

        from agent_pty.api.caller import own_environment  # noqa: PLC0415
        from agent_pty.api.client import Client  # noqa: PLC0415
        from agent_pty.words.tools.pty import pty_tools  # noqa: PLC0415
        from agent_pty.words.tools.pty_client import PtyClient  # noqa: PLC0415

        self._lock = Lock()
        self._client = Client() if client is None else client
        state = PtyClient(
            layout=self._client.layout, cwd=os.getcwd(), environment=own_environment(None)
        )
        self._tools: dict[str, Tool] = {tool.name: tool for tool in pty_tools(state)}

    def call(self, name: str, args: dict[str, Any] | None = None) -> str:
        """Call a tool; return the text for the model."""
        return self.result(name, args).text

    def result(self, name: str, args: dict[str, Any] | None = None) -> ToolResult:
        """Call a tool; return the text for the model, and whether the call failed."""
        import asyncio  # noqa: PLC0415

        with self._lock:
            return asyncio.run(self._called(name, _ClientOps(self._client), args))

    async def result_async(self, name: str, args: dict[str, Any] | None = None) -> ToolResult:
        """As `result`, for an event loop: calls run beside each other; a cancelled one hangs up."""
        # A client for each call: the next one may come from another event loop.
        async with self._client.async_client() as client:
            return await self._called(name, _AsyncClientOps(client), args)

    def close(self) -> None:
        """Hang up; sessions live on."""
        self._client.close()

    async def _called(self, name: str, asked: ToolOps, args: dict[str, Any] | None) -> ToolResult:
        if name not in self._tools:
            raise LookupError(f"no tool {name!r}: one of {', '.join(self._tools)}")
        return await self._tools[name].call(asked, dict(args or {}))


class _ProgramOps:
    """What holds for every program: there is one client, which repeats nothing, and no user."""

    request = client = ""

    async def ask_person(self, question: str) -> str:
        """Say so; the model must put the question to the user itself."""
        from agent_pty.errors import NotOffered  # noqa: PLC0415

        raise NotOffered(
            "nobody can be asked here; nothing was typed. Put the question to the user and type "
            f"the answer by pty_send: {question}"
        )


class _ClientOps(_ProgramOps):
    """Asks by a client that waits: nothing else runs in the loop of one call."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def envelope(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded envelope, of success or failure."""
        envelope: dict[str, Any] = self._client.envelope(op, **fields)
        return envelope

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return what an op answers, or raise its error."""
        from agent_pty.errors import unwrapped  # noqa: PLC0415

        return unwrapped(self._client.envelope(op, **fields)).get("data")


class _AsyncClientOps(_ProgramOps):
    """Asks by a client that lets others run meanwhile."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def envelope(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded envelope, of success or failure."""
        envelope: dict[str, Any] = await self._client.envelope(op, **fields)
        return envelope

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return what an op answers, or raise its error."""
        from agent_pty.errors import unwrapped  # noqa: PLC0415

        return unwrapped(await self._client.envelope(op, **fields)).get("data")
