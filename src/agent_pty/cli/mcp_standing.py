"""What an MCP client has said once and for all, which each new gateway must be told again."""

from __future__ import annotations

import json
from typing import Any

_GREETING = ("initialize", "notifications/initialized")
# Who has asked for the list is told when it changes.
_LIST, _SUBSCRIBE, _UNSUBSCRIBE = (
    "resources/list",
    "resources/subscribe",
    "resources/unsubscribe",
)
_UPDATED, _LIST_CHANGED = (
    "notifications/resources/updated",
    "notifications/resources/list_changed",
)


class Standing:
    """The greeting, and the subscriptions that have not been ended."""

    def __init__(self) -> None:
        self._greeting: list[bytes] = []
        self._asked: dict[tuple[str, str], bytes] = {}

    @property
    def lines(self) -> list[bytes]:
        """What to say again, in its order."""
        return [*self._greeting, *self._asked.values()]

    def note(self, message: dict[str, Any], line: bytes) -> None:
        """Remember what outlives a gateway."""
        method, params = message.get("method"), message.get("params")
        uri = str(params.get("uri", "")) if isinstance(params, dict) else ""
        if method in _GREETING:
            self._greeting.append(line)
        elif method in {_LIST, _SUBSCRIBE}:
            self._asked[method, uri] = line
        elif method == _UNSUBSCRIBE:
            self._asked.pop((_SUBSCRIBE, uri), None)

    def missed(self) -> list[bytes]:
        """Return what the client must hear: all may have changed while there was no gateway."""
        said: list[dict[str, Any]] = []
        for method, uri in self._asked:
            if method == _SUBSCRIBE:
                said.append({"method": _UPDATED, "params": {"uri": uri}})
            else:
                said.append({"method": _LIST_CHANGED})
        return [json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in said]
