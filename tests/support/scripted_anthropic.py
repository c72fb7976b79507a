"""A model behind the Anthropic API that says what a script says, without a network."""

from __future__ import annotations

import json
from typing import Any

import httpx2


def tool_use(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    """Return a call of a tool, as a model makes it."""
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}


def text(said: str) -> dict[str, Any]:
    """Return words for the user."""
    return {"type": "text", "text": said}


class ScriptedAnthropic:
    """Answers each request with the next turn of a script, and keeps what it was asked."""

    def __init__(self, *turns: list[dict[str, Any]], stop_reason: str | None = None) -> None:
        self.requests: list[dict[str, Any]] = []
        self._turns = list(turns)
        self._stop_reason = stop_reason
        self.transport = httpx2.MockTransport(self._answer)

    def results(self, request: int = -1) -> dict[str, dict[str, Any]]:
        """Return the tool results in the last message of a request, by the ids of their calls."""
        content = self.requests[request]["messages"][-1]["content"]
        return {one["tool_use_id"]: one for one in content if one["type"] == "tool_result"}

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        content = self._turns[len(self.requests) - 1]
        called = any(one["type"] == "tool_use" for one in content)
        message = {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": content,
            "stop_reason": self._stop_reason or ("tool_use" if called else "end_turn"),
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return httpx2.Response(200, json=message)
