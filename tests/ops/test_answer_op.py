import asyncio
from typing import Any

import pytest

from agent_pty.ops.answer import OP
from agent_pty.ops.op import convert


class FakeSession:
    """Notes what is answered."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}
        self.cells = self

    async def answer(self, text: str, **fields: Any) -> str:
        """Have no further question."""
        self.asked = {"text": text, **fields}
        return "report"


def asked(**fields: Any) -> dict[str, Any]:
    """Return what the session is asked for a request."""
    session = FakeSession()
    assert asyncio.run(OP.handler(session, convert(OP, {"id": "work", **fields}))) == "report"
    return session.asked


@pytest.mark.parametrize(
    ("given", "typed"), [("yes", "yes"), ("yes\n", "yes"), ("a\nb\n\n", "a\nb\n"), ("", "")]
)
def test_trial_18_the_enter_is_not_typed_twice(given: str, typed: str) -> None:
    """
    A text from standard input ends with a newline, which stands for the Enter.
    """
    assert asked(text=given)["text"] == typed


def test_trial_18_zero_is_no_limit() -> None:
    """
    As with `run`; nothing said is half a minute.
    """
    assert asked(text="x")["limit"] == 30.0
    assert asked(text="x", timeout_ms=0)["limit"] is None


def test_trial_18_an_answer_is_carried_out_once_for_each_key() -> None:
    """
    It changes something, so it takes a key.
    """
    assert OP.keyed
    assert OP.mutates
