import asyncio

import pytest

from agent_pty.words.output import Output
from support.command_output import ERR, EXIT, OUT, Ear


def test_what_is_said_comes_in_order_with_its_kind() -> None:
    """
    Output, lines, errors and last the exit status: nothing is added but line ends.
    """
    ear = Ear()

    async def story() -> None:
        said = Output(ear.hear)
        await said.write("no end")
        await said.line("a line")
        await said.err("a word of warning")
        await said.line("")
        await said.end(124)

    asyncio.run(story())

    assert ear.frames == [
        (OUT, b"no end"),
        (OUT, b"a line\n"),
        (ERR, b"a word of warning\n"),
        (OUT, b"\n"),
        (EXIT, b"124"),
    ]


@pytest.mark.parametrize(
    ("parts", "added"),
    [(["no end"], [b"\n"]), (["an end\n"], []), (["an end\n", ""], []), ([], [])],
)
def test_trial_25_text_for_a_terminal_ends_with_a_newline(
    parts: list[str], added: list[bytes]
) -> None:
    """
    The person's next prompt begins on a line of its own; a pipe gets the text as it is.
    """
    ears = {True: Ear(), False: Ear()}

    async def story() -> None:
        for terminal, ear in ears.items():
            said = Output(ear.hear, terminal=terminal)
            for part in parts:
                await said.write(part)
            await said.end(0)

    asyncio.run(story())

    written = [(OUT, part.encode()) for part in parts if part]
    assert ears[False].frames == [*written, (EXIT, b"0")]
    assert ears[True].frames == [*written, *((OUT, one) for one in added), (EXIT, b"0")]


def test_text_is_utf_8_whatever_it_holds() -> None:
    """
    Letters of any kind pass as they are; what has no encoding is replaced, not refused.
    """
    ear = Ear()

    async def story() -> None:
        said = Output(ear.hear)
        await said.write("é漢𝄞")
        await said.write("a\udc80b")

    asyncio.run(story())

    assert ear.frames == [(OUT, "é漢𝄞".encode()), (OUT, b"a?b")]


def test_nothing_said_is_no_frame() -> None:
    """
    An empty text takes no place between the others.
    """
    ear = Ear()

    asyncio.run(Output(ear.hear).write(""))

    assert ear.frames == []


def test_a_large_text_comes_in_parts() -> None:
    """
    No frame is larger than a client must hold; the parts are the text, even cut in a character.
    """
    text, ear = "é" * 400_000, Ear()

    asyncio.run(Output(ear.hear).line(text))

    assert len(ear.frames) > 1
    assert all(kind == OUT and len(payload) <= 256 * 1024 for kind, payload in ear.frames)
    assert ear.text(OUT) == text + "\n"


def test_who_is_not_listened_to_waits() -> None:
    """
    Nothing is said ahead: an output of any size never fills the memory.
    """
    told: list[int] = []
    ear = Ear()

    async def story() -> None:
        room = asyncio.Semaphore(3)

        async def hear(data: bytes) -> None:
            await room.acquire()
            await ear.hear(data)

        async def talk() -> None:
            said = Output(hear)
            for number in range(5):
                await said.line(str(number))
                told.append(number)

        talking = asyncio.get_running_loop().create_task(talk())
        await asyncio.wait({talking}, timeout=0)
        while not room.locked():
            await asyncio.wait({talking}, timeout=0)
        assert told == [0, 1, 2]
        room.release()
        room.release()
        await talking

    asyncio.run(story())

    assert ear.text(OUT) == "0\n1\n2\n3\n4\n"
