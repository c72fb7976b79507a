"""How the tools of an MCP client ask for ops: in its name, and safe to repeat."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import msgspec
from mcp.server.context import ServerRequestContext

from agent_pty import ops
from agent_pty.errors import AgentPtyError, unwrapped
from agent_pty.gateway.person import Person
from agent_pty.gateway.user_approval import UserApproval, denied, is_refusal
from agent_pty.ops.op import PASSING, encode, failure
from agent_pty.transports.caller import Caller, Handle


class GatewayOps:
    """Asks for ops in the name of *caller*, whose user is *person*.

    *request* names the call of a tool: when a client repeats it because a gateway died, its ops
    have the same keys, and nothing is done twice. *client* tells clients apart that share a server.
    *traceparent* is the span of the client that made the call.
    """

    def __init__(
        self,
        handle: Handle,
        caller: Caller,
        person: Person,
        request: str = "",
        *,
        client: str = "",
        traceparent: object = None,
    ) -> None:
        self._handle = handle
        self._caller = caller
        self._person = person
        self._request = request
        self._client = client
        self._traced = {} if traceparent is None else {"traceparent": traceparent}
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self._user = UserApproval(person, self._ask_daemon)

    @property
    def request(self) -> str:
        """Name of the call, the same when it is repeated."""
        return self._request

    @property
    def client(self) -> str:
        """Name of the client, if it shares the server with others."""
        return self._client

    @property
    def session(self) -> str | None:
        """The session that the call is about, as far as it is known yet."""
        return self._session

    async def take_answers(self) -> None:
        """Carry out what the user has answered to questions of the call before this one."""
        await self._user.grant_answered()

    async def envelope(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded envelope; if an approval is needed, the client's user is asked."""
        waits = bool(fields.get("wait_approval_ms")) and self._user.possible
        answer = await self._asked(op, {**fields, "wait_approval_ms": 0} if waits else fields)
        if not is_refusal(answer):
            return answer
        approved = await self._user.decided(answer)
        if approved is False:
            return denied(answer)
        if approved is None and not waits:
            return answer
        # The key of the first attempt belongs to its refusal.
        return await self._asked(op, {k: one for k, one in fields.items() if k != "key"})

    async def _asked(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        if isinstance(fields.get("id"), str):
            self._session = fields["id"]
        try:
            payload = encode(op, {**self._keyed(op, fields), **self._traced})
            answer = await self._handle(payload, self._caller)
        except AgentPtyError as error:
            answer = failure(error)
        if not isinstance(answer, bytes):
            raise TypeError(f"{op} is a stream")
        decoded: dict[str, Any] = msgspec.json.decode(answer)
        decoded.pop("replayed", None)
        return decoded

    def _keyed(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        # How often a tool reads may differ when its call is repeated: only keys are numbered.
        if not self._request or fields.get("key") is not None or not ops.find(op).keyed:
            return fields
        return {**fields, "key": f"{PASSING}{self._request}-{next(self._numbers)}"}

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return what an op answers, or raise its error."""
        return unwrapped(await self.envelope(op, fields)).get("data")

    async def _ask_daemon(self, op: str, **fields: Any) -> Any:
        """Return what an op answers, without asking the user about it."""
        return unwrapped(await self._asked(op, fields)).get("data")

    async def ask_person(self, question: str) -> str:
        """Return what the client's user answers."""
        return await self._person.answer(question)


# Returns how the handler of a request asks for ops.
OpsOf = Callable[[ServerRequestContext[Any]], GatewayOps]
