"""Waiting for the end of a program, without a daemon."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_pty.errors import WaitTimeout
from agent_pty.words.tools.pty_wait import waited_for_exit


class Ops:
    """A program that is quiet and does *what*, one after the other; waits for its end time out."""

    request = client = ""

    def __init__(self, *what: str | None) -> None:
        self._what = list(what)
        self.waits: list[tuple[list[str], int]] = []

    async def envelope(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Nobody asks for one."""
        raise NotImplementedError(op, fields)

    async def ask(self, op: str, **fields: Any) -> Any:
        """Answer at once."""
        if op == "doing":
            return {"what": self._what.pop(0), "cursor": 0}
        self.waits.append((fields["until"], fields["timeout_ms"]))
        if fields["until"] == ["exit"]:
            raise WaitTimeout("not yet")
        return {}

    async def ask_person(self, question: str) -> str:
        """There is nobody."""
        raise NotImplementedError(question)


def test_trial_03_a_program_is_looked_at_more_and_more_rarely() -> None:
    """
    Between two looks there is a wait for the end alone, whatever the screen shows.
    """
    ops = Ops("busy", "busy", "waiting", "busy", "busy", None)

    ended = asyncio.run(waited_for_exit(ops, "p1", 300_000))

    assert ended
    assert [most for until, most in ops.waits if until == ["exit"]] == [250, 500, 1000, 2000, 2000]


def test_trial_03_a_secret_ends_the_wait_for_the_end() -> None:
    """
    Nobody but a person can go on then.
    """
    assert not asyncio.run(waited_for_exit(Ops("busy", "secret"), "p1", 300_000))
