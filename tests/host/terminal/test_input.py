from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar, cast

import pytest

from agent_pty.core.chord import chord
from agent_pty.emulator import Emulator
from agent_pty.errors import BadRequest
from agent_pty.host.principal import Principal
from agent_pty.host.terminal.input import Input
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.terminal import Terminal as Door

Answer = TypeVar("Answer")


class Terminal:
    """Notes what it is given; *on_input* is what the program does about it."""

    def __init__(self, modes: bytes = b"") -> None:
        self.emulator = Emulator(rows=24, cols=80)
        self.emulator.feed(modes)
        self.given: list[bytes] = []
        self.typed: list[Sequence[str]] = []
        self.entered: list[bool] = []
        self.kinds: list[tuple[InputKind, str]] = []
        self.output = self  # one object is as much of a terminal as input needs
        self.on_input: Callable[[bytes], None] = lambda _data: None

    async def write(
        self,
        data: bytes,
        *,
        kind: InputKind,
        by: Principal,
        typed: Sequence[str] = (),
        entered: bool = False,
    ) -> int:
        """Take input; the cursor is how much there was before."""
        self.kinds.append((kind, by.kind))
        self.given.append(data)
        self.typed.append(typed)
        self.entered.append(entered)
        self.on_input(data)
        return sum(map(len, self.given[:-1]))

    def feels(self, act: Callable[[Input], Awaitable[Answer]]) -> Answer:
        """Give it input."""

        async def story() -> Answer:
            self.typing = asyncio.Lock()
            return await act(Input(cast("Door", self)))

        return asyncio.run(story())


def test_text_is_typed_as_it_is() -> None:
    """
    One line is typed, with Enter behind it if asked for; it will be echoed.
    """
    terminal = Terminal(b"\x1b[?2004h")

    cursor = terminal.feels(lambda given: given.type("l\u00e4s", enter=True))
    terminal.feels(lambda given: given.type("x", enter=False))

    assert cursor == 0
    assert terminal.given == [b"l\xc3\xa4s\r", b"x"]
    assert terminal.typed == [["l\u00e4s"], ["x"]]
    assert terminal.entered == [True, False]


@pytest.mark.parametrize(
    ("modes", "given"),
    [(b"", b"one\rtwo\r"), (b"\x1b[?2004h", b"\x1b[200~one\ntwo\x1b[201~\r")],
    ids=["plain", "bracketed"],
)
def test_several_lines_are_one_paste(modes: bytes, given: bytes) -> None:
    """
    Where the program knows pastes, lines do not run one by one.
    """
    terminal = Terminal(modes)

    terminal.feels(lambda given: given.type("one\ntwo", enter=True))

    assert terminal.given == [given]
    assert terminal.typed == [["one", "two"]]


def test_a_paste_says_whether_it_was_bracketed() -> None:
    """
    It is what the program asked for, and the terminator inside is gone.
    """
    plain, bracketed = Terminal(), Terminal(b"\x1b[?2004h")

    first = plain.feels(lambda given: given.paste("a", enter=False))
    second = bracketed.feels(lambda given: given.paste("a\x1b[201~b", enter=True))

    assert (first, second) == ((0, False), (0, True))
    assert bracketed.given == [b"\x1b[200~ab\x1b[201~\r"]


def test_keys_follow_the_mode() -> None:
    """
    Arrows are sent as the program wants them now.
    """
    normal, application = Terminal(), Terminal(b"\x1b[?1h")
    pressed = [chord("up"), chord("ctrl-c"), chord("enter")]

    normal.feels(lambda given: given.keys(pressed, pause=0))
    application.feels(lambda given: given.keys(pressed, pause=0))

    assert normal.given == [b"\x1b[A\x03\r"]
    assert application.given == [b"\x1bOA\x03\r"]
    assert normal.entered == [True]


def test_between_slow_keys_the_mode_may_change() -> None:
    """
    With a pause each key is an input of its own, encoded when its turn comes.
    """
    terminal = Terminal()
    terminal.on_input = lambda _data: terminal.emulator.feed(b"\x1b[?1h")

    cursor = terminal.feels(lambda given: given.keys([chord("up")] * 2, pause=0.001))

    assert terminal.given == [b"\x1b[A", b"\x1bOA"]
    assert cursor == 0


@pytest.mark.parametrize("pause", [0, 0.001])
def test_an_unknown_key_presses_none(pause: float) -> None:
    """
    The ones before it are not pressed either.
    """
    terminal = Terminal()

    with pytest.raises(BadRequest, match="did you mean enter"):
        terminal.feels(lambda given: given.keys([chord("a"), chord("entr")], pause=pause))

    assert terminal.given == []


def test_a_million_keys_are_encoded_once_each() -> None:
    """
    Many of the same key cost no more than their bytes.
    """
    terminal = Terminal()

    terminal.feels(lambda given: given.keys([chord("a"), chord("b")] * 500_000, pause=0))

    assert terminal.given == [b"ab" * 500_000]


def test_a_click_is_press_and_release() -> None:
    """
    As often as asked, at the cell counted from 1, with the keys held.
    """
    terminal = Terminal(b"\x1b[?1000h\x1b[?1006h")

    terminal.feels(
        lambda given: given.click(row=4, col=9, button="left", count=2, mods=frozenset({"ctrl"}))
    )

    assert terminal.given == [b"\x1b[<16;10;5M\x1b[<16;10;5m" * 2]
    assert terminal.typed == [()]


def test_wheel_and_drag() -> None:
    """
    Notches are pressed, a drag is press, motion and release.
    """
    terminal = Terminal(b"\x1b[?1002h\x1b[?1006h")

    terminal.feels(lambda given: given.wheel(row=0, col=0, direction="up", count=3))
    terminal.feels(lambda given: given.drag(start=(0, 0), end=(1, 2)))

    assert terminal.given[0] == b"\x1b[<64;1;1M" * 3
    assert terminal.given[1] == b"\x1b[<0;1;1M\x1b[<32;3;2M\x1b[<0;3;2m"


def test_the_mouse_is_not_sent_to_who_does_not_listen() -> None:
    """
    Without a mouse mode, and off the screen, nothing is sent and the reason given.
    """
    deaf, listening = Terminal(), Terminal(b"\x1b[?1000h")
    click = {"button": "left", "count": 1, "mods": frozenset[str]()}

    with pytest.raises(BadRequest, match="does not listen to the mouse"):
        deaf.feels(lambda given: given.click(row=0, col=0, **click))  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="cell 24,0 is outside the screen of 24x80"):
        listening.feels(lambda given: given.click(row=24, col=0, **click))  # type: ignore[arg-type]

    assert deaf.given == listening.given == []


def test_who_types_has_the_turn() -> None:
    """
    Keys with pauses are not mixed with what somebody else types meanwhile.
    """
    terminal = Terminal()

    async def both(given: Input) -> None:
        await asyncio.gather(
            given.keys([chord("a")] * 3, pause=0.001), given.type("other", enter=False)
        )

    terminal.feels(both)

    assert terminal.given == [b"a", b"a", b"a", b"other"]
