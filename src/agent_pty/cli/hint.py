"""What helps after an error of a command that runs in the client, such as `attach`."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_pty.cli.command import Invocation
from agent_pty.errors import AgentPtyError, UnknownSession
from agent_pty.words import advice


class _Asking:
    """The daemon, as advice asks it."""

    def __init__(self, call: Invocation) -> None:
        self._call = call

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return an op's answer."""
        return self._call.ask(op, **fields)


def hint(call: Invocation, error: AgentPtyError) -> str | None:
    """Return one line about an unknown session; None for other errors."""
    if not isinstance(error, UnknownSession):
        return None
    name = getattr(call.options, "name", None)
    return asyncio.run(advice.advice(_Asking(call), error, name, advice.AGENT_PTY))
