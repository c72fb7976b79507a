"""Complete what plain MCP clients leave out, before the SDK sees it and refuses it.

A client of the seed sends `initialize` without parameters, or asks for tools without having said
`initialize` at all. Pure: messages in, messages out.
"""

from __future__ import annotations

from typing import Any

Message = dict[str, Any]

_VERSION = "2025-06-18"
# A request with this key stands alone: its protocol has no `initialize`.
_ENVELOPE = "io.modelcontextprotocol/protocolVersion"
# The id of an `initialize` that we say for the client; its answer is not for the client.
OURS = "agent-pty:initialize"
_INITIALIZED: Message = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class PlainClient:
    """Follows one client's messages."""

    def __init__(self) -> None:
        self._greeted = False
        self._confirmed = False
        self._is_plain = False

    @property
    def in_order(self) -> bool:
        """Whether each request must be answered before the next one is read, as in the seed."""
        return self._is_plain

    def completed(self, message: Message) -> list[Message]:
        """Return what the SDK gets instead of *message*."""
        method = message.get("method")
        if method is None:  # an answer
            return [message]
        if method == "initialize":
            self._greeted = True
            self._is_plain = not message.get("params")
            return [{**message, "params": _greeting(message.get("params"))}]
        if method == _INITIALIZED["method"]:
            self._confirmed = True
            return [message]
        before: list[Message] = []
        if not self._greeted and not _stands_alone(message):
            self._greeted = self._is_plain = True
            before.append(
                {"jsonrpc": "2.0", "id": OURS, "method": "initialize", "params": _greeting(None)}
            )
        if self._greeted and not self._confirmed and "id" in message:
            self._confirmed = True
            before.append(_INITIALIZED)
        return [*before, message]


def _greeting(params: Any) -> dict[str, Any]:
    given = params if isinstance(params, dict) else {}
    return {
        "protocolVersion": _VERSION,
        "capabilities": {},
        "clientInfo": {"name": "unknown", "version": "0"},
        **given,
    }


def _stands_alone(message: Message) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and _ENVELOPE in meta
