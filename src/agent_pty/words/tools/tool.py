"""What a tool is: a name, a schema, and what a call returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol


class ToolOps(Protocol):
    """How a tool asks for ops, in the name of its caller.

    *request* names the call, the same when it is repeated; *client* tells clients apart that share
    a connection. Both may be empty.
    """

    @property
    def request(self) -> str:
        """Name of the call."""

    @property
    def client(self) -> str:
        """Name of the client."""

    async def envelope(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded envelope, of success or failure."""

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return what an op answers, or raise its error."""

    async def ask_person(self, question: str) -> str:
        """Return what the client's user answers; raise an error if nobody can be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a model gets: text, and the same as a value for programs.

    *image* is a picture of the screen: a PNG in base64.
    """

    text: str
    structured: Any = None
    image: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool; *hints* say whether it only reads, destroys, or may be repeated."""

    name: str
    description: str
    schema: dict[str, Any]
    call: Callable[[ToolOps, dict[str, Any]], Awaitable[ToolResult]]
    hints: dict[str, bool] = field(default_factory=dict)
