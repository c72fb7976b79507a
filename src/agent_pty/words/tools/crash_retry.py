"""Ask again when a host died: its sessions live on in another one, and looking changes nothing.

What types or ends something is not asked again: whether it was done is unknown, and is said.
"""

from __future__ import annotations

import secrets
import time
from typing import Any

from agent_pty import ops
from agent_pty.errors import HostLost, HostUnresponsive
from agent_pty.ops.op import PASSING
from agent_pty.words.tools.tool import ToolOps

# A session that makes more hosts die is given up before.
_MOST_HOSTS = 10


class RetryingOps:
    """The ops of *asked*, of which those that only look survive the death of a host."""

    def __init__(self, asked: ToolOps) -> None:
        self._asked = asked

    @property
    def request(self) -> str:
        """Name of the call."""
        return self._asked.request

    @property
    def client(self) -> str:
        """Name of the client."""
        return self._asked.client

    async def envelope(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded envelope; it is asked for once."""
        return await self._asked.envelope(op, fields)

    async def ask_person(self, question: str) -> str:
        """Return what the client's user answers."""
        return await self._asked.ask_person(question)

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return what an op answers, or raise its error."""
        if ops.find(op).mutates:
            return await self._ask_once(op, fields)
        began = time.monotonic()
        for _ in range(_MOST_HOSTS):
            try:
                return await self._asked.ask(op, **{**fields, **_of_wait(op, fields, began)})
            except HostLost as error:
                if not _died(error):
                    raise
        return await self._asked.ask(op, **fields)

    async def _ask_once(self, op: str, fields: dict[str, Any]) -> Any:
        try:
            return await self._asked.ask(op, **fields)
        except HostLost as error:
            if not _died(error) or "id" not in fields:
                raise
            look = f'pty_read {{"id": "{fields["id"]}"}} shows whether it did; the session lives on'
            raise HostLost(f"{error}. {look}", **error.details) from error


def _died(error: HostLost) -> bool:
    """Whether a host died, and not a session is lost or a host hangs."""
    unanswered = error.details.get("delivery") == "unknown"
    return unanswered and not isinstance(error, HostUnresponsive)


def _of_wait(op: str, fields: dict[str, Any], began: float) -> dict[str, Any]:
    """Return what a wait needs: the time that is left, and a key of its own.

    With the key that numbers the ops of a call, one that is repeated would not be the same request.
    """
    if op != "wait":
        return {}
    passed = int((time.monotonic() - began) * 1000)
    left = max(0, fields["timeout_ms"] - passed)
    return {"timeout_ms": left, "key": PASSING + secrets.token_hex(8)}
