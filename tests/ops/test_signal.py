import asyncio
import signal
from typing import Any

import msgspec
import pytest

from agent_pty.errors import BadRequest
from agent_pty.ops.op import Op, decode
from agent_pty.ops.signal import INTERRUPT, SIGNAL, Interrupted, Signalled


class FakeSession:
    """Notes what it was told to do."""

    def __init__(self) -> None:
        self.pressed: list[bytes] = []
        self.signalled: list[tuple[int, bool]] = []

    @property
    def cells(self) -> "FakeSession":
        """The cells are this very fake."""
        return self

    @property
    def terminal(self) -> "FakeSession":
        """So is the terminal."""
        return self

    @property
    def cursor(self) -> int:
        """Where text goes on."""
        return 17

    async def interrupt(self) -> None:
        """There is no cell to stop: press the key, as it were."""
        self.pressed.append(b"\x03")

    def signal(self, number: int, *, everyone: bool) -> list[int]:
        """Signal nobody."""
        self.signalled.append((number, everyone))
        return [100, 101]


async def _answer(op: Op, session: FakeSession, request: object) -> Any:
    return await op.handler(session, request)


def ask(op: Op, **fields: Any) -> tuple[Any, FakeSession]:
    """Send a request as it comes from the wire."""
    session = FakeSession()
    request = decode(op, msgspec.json.encode({"op": op.name, "id": "x", **fields}))
    return asyncio.run(_answer(op, session, request)), session


def test_an_interrupt_is_a_key() -> None:
    """
    It goes through the terminal, so that a program in raw mode can read it.
    """
    answer, session = ask(INTERRUPT)

    assert answer == Interrupted(cursor=17)
    assert session.pressed == [b"\x03"]
    assert session.signalled == []


@pytest.mark.parametrize("given", ["TERM", "SIGTERM", "term", "sigterm", "15", 15])
def test_a_signal_has_many_spellings(given: str | int) -> None:
    """
    With or without SIG, in either case, or by number; the answer has its full name.
    """
    answer, session = ask(SIGNAL, signal=given)

    assert answer == Signalled(signal="SIGTERM", pids=[100, 101])
    assert session.signalled == [(signal.SIGTERM, False)]


def test_everyone_is_the_whole_tree() -> None:
    """
    Asked for, the signal goes beyond the foreground.
    """
    assert ask(SIGNAL, signal="HUP", everyone=True)[1].signalled == [(signal.SIGHUP, True)]


@pytest.mark.parametrize("given", ["", "SIG", "0", 0, -9, 999, "TERM;KILL", "9 ", "SIGSIGTERM"])
def test_what_is_no_signal_is_refused(given: str | int) -> None:
    """
    Signal 0 and everything unknown is a mistake; nobody is signalled.
    """
    with pytest.raises(BadRequest, match="unknown signal") as caught:
        ask(SIGNAL, signal=given)

    assert caught.value.details == {"field": "signal"}


def test_a_slip_gets_a_hint() -> None:
    """
    The nearest names are offered.
    """
    with pytest.raises(BadRequest, match=r"unknown signal 'TREM': did you mean .*SIGTERM"):
        ask(SIGNAL, signal="TREM")


@pytest.mark.parametrize("given", [None, True, 9.5, ["TERM"]])
def test_a_signal_is_a_word_or_a_number(given: object) -> None:
    """
    Anything else does not get as far as the handler.
    """
    with pytest.raises(BadRequest, match="invalid request"):
        ask(SIGNAL, signal=given)
