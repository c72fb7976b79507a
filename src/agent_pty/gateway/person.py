"""The user of an MCP client, to whom a program's question can be put.

Clients of the newest protocol get the question as the result of their call, and call again with
the answer; older ones are sent a request of ours while their call goes on.
"""

from __future__ import annotations

import hashlib
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agent_pty.errors import NotOffered, NotPermitted

_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Answer"}},
    "required": ["answer"],
}


class AnswerNeeded(Exception):
    """The call must be made again, with the answer to this question."""

    def __init__(self, key: str, question: str) -> None:
        super().__init__(question)
        form = types.ElicitRequestFormParams(message=question, requested_schema=_FORM)
        self.result = types.InputRequiredResult(
            input_requests={key: types.ElicitRequest(params=form)}
        )


class Person:
    """Asks by the client of one call; *answers* came with the call, by the key of the question."""

    def __init__(
        self, context: ServerRequestContext[Any], answers: types.InputResponses | None
    ) -> None:
        self._context = context
        self._answers = answers or {}

    async def answer(self, question: str) -> str:
        """Return the answer; an error if this client cannot ask, or its user does not answer."""
        session = self._context.session
        if not _can_ask(session.client_capabilities):
            raise NotOffered(
                "this client cannot ask its user; nothing was typed. Put the question to the user "
                f"yourself and type the answer by pty_send: {question}"
            )
        if self._context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return _accepted(await session.elicit_form(question, _FORM, self._context.request_id))
        # Another question has another key: an old answer is not taken for its answer.
        key = "question-" + hashlib.sha256(question.encode()).hexdigest()[:16]
        if key not in self._answers:
            raise AnswerNeeded(key, question)
        return _accepted(self._answers[key])


def _can_ask(capabilities: types.ClientCapabilities | None) -> bool:
    """Whether the client shows forms; one that names no kind of dialog means forms."""
    asking = capabilities.elicitation if capabilities is not None else None
    return asking is not None and (asking.form is not None or asking.url is None)


def _accepted(result: Any) -> str:
    if not isinstance(result, types.ElicitResult) or result.action != "accept":
        raise NotPermitted("the user did not answer; nothing was typed")
    return str((result.content or {}).get("answer", ""))
