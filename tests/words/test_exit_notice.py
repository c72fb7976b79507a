"""Notices of exits, without a daemon."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agent_pty.core.layout import Layout
from agent_pty.words.tools.exit_notice import exit_notices
from agent_pty.words.tools.pty_client import PtyClient

SESSION: dict[str, Any] = {
    "id": "p1",
    "instance": "i1",
    "state": "running",
    "exit_code": None,
    "signal": None,
    "ended_at": None,
}
ENDED = {**SESSION, "state": "exited", "exit_code": 3}


class Ops:
    """A call of a tool; every session has written one line."""

    client = ""

    def __init__(self, request: str) -> None:
        self.request = request

    async def envelope(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Nobody asks for one."""
        raise NotImplementedError(op, fields)

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return the last lines."""
        assert (op, fields["id"]) == ("read", "p1")
        return {"text": "last words\n"}

    async def ask_person(self, question: str) -> str:
        """There is nobody."""
        raise NotImplementedError(question)


def client(home: Path) -> PtyClient:
    """Return the client as a new gateway finds it."""
    layout = Layout(home=str(home), socket=f"{home}/s", log_dir=f"{home}/runs")
    home.joinpath("runs").mkdir(exist_ok=True)
    return PtyClient.found_again(layout, "some client", cwd="/")


def told(to: PtyClient, request: str, *sessions: dict[str, Any]) -> str:
    """Return the notices of one call, after which the client's state is saved."""
    text = asyncio.run(exit_notices(to, Ops(request), list(sessions)))
    to.save()
    return text


def test_trial_04_a_call_that_is_repeated_tells_again(tmp_path: Path) -> None:
    """
    A gateway that died may have told nobody: the same call tells again, another one does not.
    """
    before = client(tmp_path)
    before.knows(SESSION)
    first = told(before, "call-1", ENDED)

    again = told(client(tmp_path), "call-1", ENDED)
    other = told(client(tmp_path), "call-2", ENDED)

    assert first == again == "[p1 exited 3: last words]\n"
    assert other == ""


def test_trial_04_a_session_that_is_gone_is_told_once_too(tmp_path: Path) -> None:
    """
    Also somebody else's `kill` is told exactly once, over the death of a gateway.
    """
    before = client(tmp_path)
    before.knows(SESSION)
    before.save()

    first, again = (told(client(tmp_path), "call-1") for _ in range(2))
    other = told(client(tmp_path), "call-2")

    assert first == again
    assert "p1 is gone" in first
    assert other == ""
    assert not client(tmp_path).known


def test_trial_04_who_has_left_is_forgotten(tmp_path: Path) -> None:
    """
    Nothing is kept for a client that hung up.
    """
    before = client(tmp_path)
    before.knows(SESSION)
    before.save()

    before.leave()

    assert not client(tmp_path).known
