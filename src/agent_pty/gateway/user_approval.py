"""A call that needs an approval is put to the user of the MCP client, if the policy allows that."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from agent_pty.core.policy.shown_command import shown_command
from agent_pty.errors import AgentPtyError, ApprovalRequired
from agent_pty.gateway.person import Person

Envelope = dict[str, Any]
# Returns what an op answers, or raises its error.
Ask = Callable[..., Awaitable[Any]]
_KEY = "approval-"


class UserApproval:
    """Asks *person* about refusals of one call; the daemon checks whether that is allowed."""

    def __init__(self, person: Person, ask: Ask) -> None:
        self._person = person
        self._ask = ask

    @property
    def possible(self) -> bool:
        """Whether the client can ask at all."""
        return self._person.can_be_asked

    async def grant_answered(self) -> None:
        """Approve what the user said yes to, in answers that came with the call.

        All of them are carried out before the tool begins: it may need two approvals, and the
        client sends each answer once.
        """
        for key in self._person.answered(_KEY):
            if self._person.said_yes(key):
                with contextlib.suppress(AgentPtyError):  # it is refused again, with its reason
                    await self._decide(key.removeprefix(_KEY), approved=True)

    async def decided(self, refused: Envelope) -> bool | None:
        """Return whether the user approves what was refused; None if nobody could be asked."""
        request = refused["details"].get("request")
        if request is None or not self.possible:
            return None
        try:
            pending = await self._ask("user_decision", request=request)
        except AgentPtyError:  # not allowed, or decided meanwhile: the refusal says what to do
            return None
        approved = await self._person.decision(_KEY + request, question(pending))
        if approved is not None:
            await self._decide(request, approved=approved)
        return approved

    async def _decide(self, request: str, *, approved: bool) -> None:
        await self._ask("user_decision", request=request, approved=approved)


def is_refusal(envelope: Envelope) -> bool:
    """Whether an answer says that an approval is needed."""
    return not envelope["ok"] and envelope["code"] == ApprovalRequired.code


def denied(refused: Envelope) -> Envelope:
    """Return the refusal for a model whose user said no: there is nothing to wait for."""
    details = {
        name: value
        for name, value in refused["details"].items()
        if name not in {"request", "remedy"}
    }
    said = f"{refused['error']}: the user was asked and said no; do it in another way"
    return {**refused, "error": said, "details": details}


def question(pending: dict[str, Any]) -> str:
    """Return what the user is asked, one fact per line: nothing in it can hide.

    >>> print(question({"rule": "rm -rf", "gate": "line", "session_id": "work", "cwd": "/srv",
    ...                 "command": "rm -rf build", "reason": None}))
    rm -rf needs your approval. The model wants to do this once:
    <BLANKLINE>
        rm -rf build
    <BLANKLINE>
    Session: work
    Directory: /srv
    """
    new = pending["gate"] == pending["session_id"] == "start"  # as the daemon names what is not yet
    facts = {
        "Session": "a new one" if new else pending["session_id"],
        "Directory": pending["cwd"] or "not known",
        "Reason": pending["reason"],
    }
    lines = [
        f"{_shown(pending['rule'])} needs your approval. The model wants to do this once:",
        "",
        *(f"    {line}" for line in shown_command(pending["command"])),
        "",
        *(f"{name}: {_shown(fact)}" for name, fact in facts.items() if fact),
    ]
    return "\n".join(lines)


def _shown(text: str) -> str:
    return shown_command(text)[0]
