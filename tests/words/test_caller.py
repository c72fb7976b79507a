"""What only the caller has; the test is the script that answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from agent_pty.errors import TooLarge, Usage
from agent_pty.ops.op import LARGEST_REQUEST
from agent_pty.words.caller import Caller
from agent_pty.words.frames import FromCaller, ToCaller
from support.command_output import Ear

Answer = TypeVar("Answer")
Frames = list[tuple[FromCaller, bytes]]
DATA, END, FAILED = FromCaller.DATA, FromCaller.END, FromCaller.FAILED
PIECE = 1024 * 1024


class Script(Ear):
    """Takes what the daemon sends, and sends *frames* as soon as it is asked for something."""

    def __init__(self, *frames: tuple[FromCaller, bytes]) -> None:
        super().__init__()
        self.caller = Caller(self.hear)
        self._frames = frames

    async def hear(self, data: bytes) -> None:
        """Take a question and answer it."""
        await super().hear(data)
        self.sends(*self._frames)

    def sends(self, *frames: tuple[FromCaller, bytes]) -> None:
        """Send frames."""
        for kind, payload in frames:
            self.caller.feed(kind, payload)


def asked(script: Script, ask: Callable[[Caller], Awaitable[Answer]]) -> Answer:
    """Ask the script for something."""

    async def story() -> Answer:
        return await ask(script.caller)

    return asyncio.run(story())


async def next_turn() -> None:
    """Let every other task have one turn of the loop."""
    turn = asyncio.Event()
    asyncio.get_running_loop().call_soon(turn.set)
    await turn.wait()


# -- what can be asked for


def test_standard_input_comes_in_pieces() -> None:
    """
    All pieces up to the end are the standard input, byte by byte.
    """
    script = Script((DATA, b"one\n"), (DATA, b"\xff\0"), (DATA, b""), (END, b""))

    given = asked(script, Caller.stdin)

    assert given == b"one\n\xff\0"
    assert script.frames == [(ToCaller.SEND, b"stdin")]


@pytest.mark.parametrize(
    ("data", "environment"),
    [
        (b"", {}),
        (b"HOME=/root\0A=b=c\0EMPTY=\0", {"HOME": "/root", "A": "b=c", "EMPTY": ""}),
        (b"LINES=1\n2", {"LINES": "1\n2"}),
        (b"RAW=\xff", {"RAW": "\udcff"}),
        ("UMLAUT=ä".encode(), {"UMLAUT": "ä"}),
    ],
)
def test_the_environment_is_names_and_values(data: bytes, environment: dict[str, str]) -> None:
    """
    Only the first equals sign ends a name; bytes that are no UTF-8 are kept as surrogates.
    """
    script = Script((DATA, data), (END, b""))

    given = asked(script, Caller.environment)

    assert given == environment
    assert script.frames == [(ToCaller.SEND, b"env")]


@pytest.mark.parametrize(
    ("path", "asked_for"), [("a/ä b", b"file\0a/\xc3\xa4 b"), ("\udcff", b"file\0\xff")]
)
def test_a_file_is_asked_for_by_its_path(path: str, asked_for: bytes) -> None:
    """
    The path is sent as the caller's system has it, and the content is returned as it is.
    """
    script = Script((DATA, b"\x00content\n"), (END, b""))

    content = asked(script, lambda caller: caller.read_file(path))

    assert content == b"\x00content\n"
    assert script.frames == [(ToCaller.SEND, asked_for)]


def test_a_file_is_written_with_its_path_and_its_content() -> None:
    """
    Path and content are sent together, and the end is the answer.
    """
    script = Script((END, b""))

    asked(script, lambda caller: caller.write_file("out/\udcff", b"a\0b"))

    assert script.frames == [(ToCaller.WRITE, b"out/\xff\0a\0b")]


# -- failures


@pytest.mark.parametrize(
    "ask",
    [
        Caller.stdin,
        Caller.environment,
        lambda caller: caller.read_file("x"),
        lambda caller: caller.write_file("x", b""),
    ],
    ids=["stdin", "environment", "read", "write"],
)
def test_what_cannot_be_had_is_wrong_usage(ask: Callable[[Caller], Awaitable[object]]) -> None:
    """
    The error has the reason of the script, also after some data came.
    """
    script = Script((DATA, b"part"), (FAILED, b"cannot read x: \xff"))

    with pytest.raises(Usage) as caught:
        asked(script, ask)

    assert str(caught.value) == "cannot read x: \ufffd"
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("more", [b"", b"x"])
def test_more_than_a_request_may_have_is_refused(more: bytes) -> None:
    """
    Data up to the largest request is taken; one byte more is refused.
    """
    pieces: Frames = [(DATA, bytes(PIECE))] * (LARGEST_REQUEST // PIECE)
    script = Script(*pieces, (DATA, more), (END, b""))

    if more:
        with pytest.raises(TooLarge, match="at most 8 MiB") as caught:
            asked(script, Caller.stdin)
        assert caught.value.details == {"limit": LARGEST_REQUEST}
    else:
        assert len(asked(script, Caller.stdin)) == LARGEST_REQUEST


def test_a_caller_that_is_gone_ends_the_question() -> None:
    """
    An error while the question is sent is the error of the question, and no answer is waited for.
    """

    async def gone(data: bytes) -> None:
        del data
        raise ConnectionResetError

    async def story() -> None:
        caller = Caller(gone)
        with pytest.raises(ConnectionResetError):
            await caller.stdin()
        caller.feed(END, b"")

    asyncio.run(story())


# -- one thing at a time


def test_each_question_has_its_own_answer() -> None:
    """
    Data of an earlier answer is not in a later one, also if the earlier one failed.
    """

    async def story() -> list[object]:
        script = Script()
        loop, answers = asyncio.get_running_loop(), list[object]()
        given: list[Frames] = [
            [(DATA, b"first"), (END, b"")],
            [(DATA, b"half"), (FAILED, b"broken")],
            [(DATA, b"third"), (END, b"")],
        ]
        for frames in given:
            asking = loop.create_task(script.caller.stdin())
            await next_turn()
            script.sends(*frames)
            answers += await asyncio.gather(asking, return_exceptions=True)
        return answers

    first, second, third = asyncio.run(story())

    assert (first, third) == (b"first", b"third")
    assert isinstance(second, Usage)


@pytest.mark.parametrize("kind", list(FromCaller))
def test_frames_that_nobody_asked_for_are_ignored(kind: FromCaller) -> None:
    """
    What comes before a question or after its answer does not count.
    """
    script = Script((DATA, b"right"), (END, b""), (kind, b"late"))

    script.sends((kind, b"early"))
    given = asked(script, Caller.stdin)
    script.sends((kind, b"much later"))

    assert given == b"right"


def test_ctrl_c_is_no_answer() -> None:
    """
    An interrupt during a question neither answers nor ends it.
    """
    script = Script((DATA, b"a"), (FromCaller.INTERRUPT, b"x"), (DATA, b"b"), (END, b""))

    assert asked(script, Caller.stdin) == b"ab"


def test_a_question_that_was_given_up_is_forgotten() -> None:
    """
    The late answer to a question that was cancelled is not taken for the next one.
    """

    async def story() -> bytes:
        script = Script()
        loop = asyncio.get_running_loop()
        asking = loop.create_task(script.caller.stdin())
        await next_turn()
        script.sends((DATA, b"old"))
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        script.sends((DATA, b"old"), (END, b""))

        asking = loop.create_task(script.caller.read_file("x"))
        await next_turn()
        script.sends((DATA, b"new"), (END, b""))
        return await asking

    assert asyncio.run(story()) == b"new"
