import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from agent_pty.core.chord import Chord
from agent_pty.errors import BadRequest
from agent_pty.ops.keys import KEYS
from agent_pty.ops.op import convert


class FakeSession:
    """Notes the keys that it gets."""

    def __init__(self) -> None:
        self.pressed: list[str] = []
        self.input = self

    async def keys(self, chords: Sequence[Chord], *, pause: float) -> int:
        """Press them."""
        del pause
        self.pressed = [one.key for one in chords]
        return 7


def press(**fields: Any) -> list[str]:
    """Ask for keys; return what was pressed."""
    session = FakeSession()
    asyncio.run(KEYS.handler(session, convert(KEYS, {"id": "work", **fields})))
    return session.pressed


def test_trial_18_texts_and_keys_come_in_order() -> None:
    """
    They may be mixed, and all of them are repeated.
    """
    assert press(keys=["up", "text:ab", "enter"], repeat=2) == ["up", "a", "b", "enter"] * 2


@pytest.mark.parametrize(
    "fields", [{"keys": ["text:" + "x" * 10_001]}, {"keys": ["text:" + "x" * 9999], "repeat": 101}]
)
def test_trial_18_what_is_too_long_for_keys_is_refused(fields: dict[str, Any]) -> None:
    """
    Nothing is pressed; the error names what takes longer text.
    """
    with pytest.raises(BadRequest, match="paste longer text"):
        press(**fields)
