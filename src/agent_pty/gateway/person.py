"""The user of an MCP client, to whom a question can be put: a program's, or one for an approval.

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

_YES = "yes"
_DECISION: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Approve?", "enum": [_YES, "no"]}},
    "required": ["answer"],
}
_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Answer"}},
    "required": ["answer"],
}


class AnswerNeeded(Exception):
    """The call must be made again, with the answer to this question."""

    def __init__(self, key: str, question: str, schema: dict[str, Any]) -> None:
        super().__init__(question)
        form = types.ElicitRequestFormParams(message=question, requested_schema=schema)
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

    @property
    def can_be_asked(self) -> bool:
        """Whether the client can ask its user."""
        return _can_ask(self._context.session.client_capabilities)

    async def answer(self, question: str) -> str:
        """Return the answer; an error if this client cannot ask, or its user does not answer."""
        if not self.can_be_asked:
            raise NotOffered(
                "this client cannot ask its user; nothing was typed. Put the question to the user "
                f"yourself and type the answer by pty_send: {question}"
            )
        # Another question has another key: an old answer is not taken for its answer.
        key = "question-" + hashlib.sha256(question.encode()).hexdigest()[:16]
        return _accepted(await self._asked(key, question, _FORM))

    async def decision(self, key: str, question: str) -> bool | None:
        """Return whether the user says yes; None if they do not decide."""
        return _decided(await self._asked(key, question, _DECISION))

    def answered(self, prefix: str) -> list[str]:
        """Return the keys of answers that came with the call."""
        return [key for key in self._answers if key.startswith(prefix)]

    def said_yes(self, key: str) -> bool:
        """Whether the answer that came with the call is yes."""
        return _decided(self._answers[key]) is True

    async def _asked(self, key: str, question: str, schema: dict[str, Any]) -> Any:
        if self._context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            session, request = self._context.session, self._context.request_id
            return await session.elicit_form(question, schema, request)
        if key not in self._answers:
            raise AnswerNeeded(key, question, schema)
        return self._answers[key]


def _can_ask(capabilities: types.ClientCapabilities | None) -> bool:
    """Whether the client shows forms; one that names no kind of dialog means forms."""
    asking = capabilities.elicitation if capabilities is not None else None
    return asking is not None and (asking.form is not None or asking.url is None)


def _decided(result: Any) -> bool | None:
    """Take nothing but a plain yes for one; who closes the dialog has not decided."""
    if not isinstance(result, types.ElicitResult) or result.action == "cancel":
        return None
    return result.action == "accept" and (result.content or {}).get("answer") == _YES


def _accepted(result: Any) -> str:
    if not isinstance(result, types.ElicitResult) or result.action != "accept":
        raise NotPermitted("the user did not answer; nothing was typed")
    return str((result.content or {}).get("answer", ""))
