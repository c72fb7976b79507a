import asyncio

from agent_pty.words.said import Said

OUT, ERR, EXIT = 1, 2, 3


def parsed(stream: bytes) -> list[tuple[int, bytes]]:
    """Take frames apart as `cli/k` does: a byte of kind, four of length, the payload."""
    frames = []
    while stream:
        size = int.from_bytes(stream[1:5], "big")
        frames.append((stream[0], stream[5 : 5 + size]))
        stream = stream[5 + size :]
    return frames


async def heard(said: Said) -> list[tuple[int, bytes]]:
    """Listen to the end."""
    return parsed(b"".join([frame async for frame in said.frames()]))


def test_what_is_said_comes_in_order_with_its_kind() -> None:
    """
    Output, lines, errors and last the exit status: nothing is added but line ends.
    """

    async def story() -> list[tuple[int, bytes]]:
        said = Said()
        async with asyncio.TaskGroup() as group:
            hearing = group.create_task(heard(said))
            await said.out("no end")
            await said.line("a line")
            await said.err("a word of warning")
            await said.line("")
            await said.end(124)
        return hearing.result()

    assert asyncio.run(story()) == [
        (OUT, b"no end"),
        (OUT, b"a line\n"),
        (ERR, b"a word of warning\n"),
        (OUT, b"\n"),
        (EXIT, b"124"),
    ]


def test_text_is_utf_8_whatever_it_holds() -> None:
    """
    Letters of any kind pass as they are; what has no encoding is replaced, not refused.
    """

    async def story() -> list[tuple[int, bytes]]:
        said = Said()
        await said.out("é漢𝄞")
        await said.out("a\udc80b")
        await said.end(0)
        return await heard(said)

    assert asyncio.run(story())[:2] == [(OUT, "é漢𝄞".encode()), (OUT, b"a?b")]


def test_nothing_said_is_no_frame() -> None:
    """
    An empty text takes no place between the others.
    """

    async def story() -> list[tuple[int, bytes]]:
        said = Said()
        await said.out("")
        await said.end(0)
        return await heard(said)

    assert asyncio.run(story()) == [(EXIT, b"0")]


def test_a_large_text_comes_in_parts() -> None:
    """
    No frame is larger than a client must hold; the parts are the text, even cut in a character.
    """
    text = "é" * 400_000

    async def story() -> list[tuple[int, bytes]]:
        said = Said()
        async with asyncio.TaskGroup() as group:
            hearing = group.create_task(heard(said))
            await said.line(text)
            await said.end(0)
        return hearing.result()

    *parts, _ = asyncio.run(story())

    assert len(parts) > 1
    assert all(kind == OUT and len(payload) <= 256 * 1024 for kind, payload in parts)
    assert b"".join(payload for _, payload in parts).decode() == text + "\n"


def test_who_is_not_listened_to_waits() -> None:
    """
    Only a little is said ahead: an output of any size never fills the memory.
    """
    told: list[int] = []

    async def talk(said: Said) -> None:
        for number in range(100):
            await said.line(str(number))
            told.append(number)
        await said.end(0)

    async def story() -> None:
        said = Said()
        async with asyncio.TaskGroup() as group:
            group.create_task(talk(said))
            frames = said.frames()
            taken = 0
            async for _ in frames:
                taken += 1
                assert len(told) <= taken + 5
        assert (taken, len(told)) == (101, 100)

    asyncio.run(story())
