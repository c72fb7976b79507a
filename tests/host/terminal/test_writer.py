import asyncio
import contextlib
import os
import tty
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from agent_pty.errors import Busy, SessionEnded
from agent_pty.host.terminal.writer import PATIENCE, Writer
from support.turn import turns

MUCH = bytes(range(1, 256)) * 1000


async def write(writer: Writer, data: bytes, patience: float = PATIENCE) -> None:
    """Write all of it, as a session does."""
    await writer.finish(writer.begin(data), total=len(data), patience=patience)


@dataclass
class Terminal:
    """A real terminal whose program reads when it is told to."""

    master: int
    slave: int

    def read_all(self) -> bytes:
        """Read what is there now."""
        data = b""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.slave, 1 << 16):
                data += piece
        return data


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal in raw mode: what is typed is read as it is."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    os.set_blocking(slave, False)
    yield Terminal(master, slave)
    os.close(master)
    with contextlib.suppress(OSError):
        os.close(slave)


def tell(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Let a story happen, within bounds."""
    asyncio.run(asyncio.wait_for(story(), 30))


def read_in_turns(terminal: Terminal, taken: bytearray) -> None:
    """Be a program that reads whenever something is there."""
    asyncio.get_running_loop().add_reader(terminal.slave, lambda: taken.extend(terminal.read_all()))


def test_every_byte_arrives(terminal: Terminal) -> None:
    """
    More than the terminal holds at once is written as fast as the program reads.
    """
    taken = bytearray()

    async def story() -> None:
        writer = Writer(terminal.master)
        read_in_turns(terminal, taken)

        await write(writer, MUCH)

    tell(story)

    assert bytes(taken) + terminal.read_all() == MUCH


def test_a_program_that_does_not_read_is_not_waited_for_ever(terminal: Terminal) -> None:
    """
    The error says how much was typed, and exactly that much is there to be read.
    """

    async def story() -> None:
        writer = Writer(terminal.master)

        with pytest.raises(Busy) as caught:
            await write(writer, MUCH, patience=0.1)

        typed = caught.value.details["typed"]
        assert caught.value.details == {"typed": typed, "total": len(MUCH)}
        assert str(caught.value) == (
            f"the program does not read: {typed} of {len(MUCH)} bytes were typed, "
            "the rest was dropped"
        )
        assert 0 < typed < len(MUCH)
        assert terminal.read_all() == MUCH[:typed]

    tell(story)


def test_a_writer_goes_on_after_a_program_that_did_not_read(terminal: Terminal) -> None:
    """
    Once the program reads again, the next input is typed as a whole.
    """

    async def story() -> None:
        writer = Writer(terminal.master)
        with pytest.raises(Busy):
            await write(writer, MUCH, patience=0.05)
        terminal.read_all()

        await write(writer, b"next")

        assert terminal.read_all() == b"next"

    tell(story)


def test_nobody_else_is_held_up_meanwhile(terminal: Terminal) -> None:
    """
    While a writer waits for room the event loop goes on.
    """

    async def story() -> None:
        writer = Writer(terminal.master)
        taken = bytearray()
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(write(writer, MUCH))
            await turns(3)
            assert not writing.done()

            read_in_turns(terminal, taken)

        assert bytes(taken) + terminal.read_all() == MUCH

    tell(story)


def test_who_holds_the_turn_is_not_interrupted(terminal: Terminal) -> None:
    """
    Two inputs at the same time arrive one after the other, never mixed.
    """
    taken = bytearray()

    async def type_whole(writer: Writer, data: bytes) -> None:
        async with writer.lock:
            await write(writer, data)

    async def story() -> None:
        writer = Writer(terminal.master)
        async with asyncio.TaskGroup() as group:
            group.create_task(type_whole(writer, b"a" * 50_000))
            group.create_task(type_whole(writer, b"b" * 50_000))
            read_in_turns(terminal, taken)

    tell(story)

    assert bytes(taken) + terminal.read_all() == b"a" * 50_000 + b"b" * 50_000


def test_the_end_of_the_program_ends_the_write(terminal: Terminal) -> None:
    """
    Who waits for room is told that the session has ended, at once and not after ten seconds.
    """

    async def story() -> None:
        writer = Writer(terminal.master)
        writing = asyncio.get_running_loop().create_task(write(writer, MUCH))
        await turns()

        writer.close()

        with pytest.raises(SessionEnded):
            async with asyncio.timeout(5):
                await writing

    tell(story)


def test_nothing_is_typed_after_the_end(terminal: Terminal) -> None:
    """
    A closed writer refuses input; a terminal's own reply is dropped without a word.
    """

    async def story() -> None:
        writer = Writer(terminal.master)
        writer.close()
        writer.close()

        with pytest.raises(SessionEnded, match="nothing can be typed into it"):
            await write(writer, b"late")
        writer.write_if_room(b"late")

        assert terminal.read_all() == b""

    tell(story)


def test_a_reply_waits_for_nobody(terminal: Terminal) -> None:
    """
    A program that does not read gets what fits of a terminal's reply; nothing blocks or fails.
    """

    async def story() -> None:
        writer = Writer(terminal.master)

        writer.write_if_room(b"\x1b[1;1R")
        assert terminal.read_all() == b"\x1b[1;1R"
        for _ in range(1000):
            writer.write_if_room(b"x" * 1000)

        assert 0 < len(terminal.read_all()) < 1_000_000

    tell(story)


def test_a_cancelled_write_leaves_the_terminal_usable(terminal: Terminal) -> None:
    """
    Who gives up typing leaves nothing behind in the event loop.
    """

    async def story() -> None:
        writer = Writer(terminal.master)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await write(writer, MUCH)
        terminal.read_all()

        await write(writer, b"after")

        assert terminal.read_all() == b"after"

    tell(story)
