from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from agent_pty.host import principal
from agent_pty.host.principal import Principal
from agent_pty.host.request import open_stream
from agent_pty.host.session import Session
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.viewers.typed import TypedCounts


class Keys:
    """Input that notes what is pressed and for whom."""

    def __init__(self) -> None:
        self.pressed: list[tuple[bytes, str]] = []

    async def press(self, data: bytes, *, kind: InputKind) -> int:
        """Press."""
        assert kind is InputKind.ATTACH
        self.pressed.append((data, principal.acting.get().kind))
        return 0


class Fake:
    """As much of a session as a keyboard needs."""

    def __init__(self) -> None:
        self.input = Keys()
        self.typed = TypedCounts()
        self.cursor = 0


def attach(session: Fake, **fields: Any) -> Any:
    """Open an attachment."""
    payload = json.dumps({"op": "attach", "id": "x", **fields}).encode()
    return open_stream(cast("Session", session), payload)


async def settle() -> None:
    """Let every other task run until it waits or ends."""
    others = asyncio.all_tasks() - {cast("asyncio.Task[Any]", asyncio.current_task())}
    if others:
        await asyncio.wait(others)


@pytest.mark.parametrize("read_only", [False, True])
def test_only_who_may_type_types(*, read_only: bool) -> None:
    """
    The host itself drops the keys of a read-only attachment, whatever its client sends.
    """

    async def story() -> list[tuple[bytes, str]]:
        session = Fake()
        opened = attach(session, read_only=read_only)
        opened.typed(b"evil\r")
        await settle()
        return session.input.pressed

    assert asyncio.run(story()) == ([] if read_only else [(b"evil\r", "agent")])


def test_keys_are_pressed_in_order_by_who_opened_the_stream() -> None:
    """
    Keys arrive outside the stream's task, and still are those of its principal.
    """

    async def story() -> list[tuple[bytes, str]]:
        session = Fake()

        async def opening() -> Any:
            principal.acting.set(Principal(kind="human"))
            return attach(session)

        opened = await asyncio.get_running_loop().create_task(opening())
        opened.typed(b"a")
        opened.typed(b"b")
        await settle()
        opened.typed(b"c")
        await settle()
        return session.input.pressed

    assert asyncio.run(story()) == [(b"ab", "human"), (b"c", "human")]


def test_a_refused_stream_says_why() -> None:
    """
    What is no request opens nothing.
    """
    opened = attach(Fake(), history_bytes=-1)

    assert opened.chunks is None
    assert json.loads(opened.head)["code"] == "bad_request"
