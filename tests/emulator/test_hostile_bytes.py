"""Bytes from a program that is broken or means harm."""

from __future__ import annotations

import mmap
import random
import tempfile
import time
from collections.abc import Callable

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.emulator import Emulator


def fed(data: bytes, *, rows: int = 5, cols: int = 10) -> Emulator:
    """Return a small emulator that has read *data*."""
    emulator = Emulator(rows=rows, cols=cols)
    emulator.feed(data)
    return emulator


def state(emulator: Emulator) -> tuple[object, ...]:
    """Return all that may not depend on how the bytes were cut."""
    return (
        emulator.lines(),
        emulator.styled(),
        emulator.cursor,
        emulator.modes(),
        emulator.title,
        emulator.take_replies(),
        emulator.take_events(),
    )


PIECES = st.sampled_from(
    [
        *(b"a", b"word ", b"\r\n", b"\t", b"\b", b"\x07", b"\x1b", b"\x9b", b"\xff", b"\0"),
        *("日".encode(), "é".encode(), "👨‍👩‍👧".encode(), b"\xe6\x97", b"\xf0\x9f"),
        *(b"\x1b[31m", b"\x1b[2J", b"\x1b[3;4H", b"\x1b[?1049h", b"\x1b[?2004h", b"\x1b[6n"),
        *(b"\x1b]2;title\x07", b"\x1b]2;cut", b"\x1b\\", b"\x1bP$qm\x1b\\", b"\x1b[38;2;1", b";"),
        *(b"\x1b7", b"\x1b8", b"\x1b[2;3r", b"\x1b[L", b"\x1b(0", b"\x1b[c", b"\x18", b"\x1b[5b"),
    ]
)


@given(st.lists(PIECES | st.binary(max_size=3), max_size=25).map(b"".join), st.data())
def test_bytes_may_be_cut_anywhere(stream: bytes, data: st.DataObject) -> None:
    """
    The same bytes give the same state whatever the sizes in which they arrive.
    """
    cut = Emulator(rows=5, cols=10)
    rest = stream
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        cut.feed(rest[:size])
        rest = rest[size:]

    assert state(cut) == state(fed(stream))


@pytest.mark.parametrize("seed", range(8))
def test_random_bytes_never_raise(seed: int) -> None:
    """
    Any bytes can be fed and every view of the result read.
    """
    source = random.Random(seed)  # noqa: S311 - a seed makes the failure repeatable
    emulator = Emulator(rows=24, cols=80)
    for _ in range(20):
        noise = source.randbytes(2000)
        # Noise alone seldom forms a sequence, so introducers are sprinkled in.
        emulator.feed(noise.replace(b"\x80", b"\x1b[").replace(b"\x81", b"\x1b]"))
        state(emulator)
        emulator.resize(rows=source.randint(1, 50), cols=source.randint(1, 100))
        for kind in ("plain", "vt", "html"):
            emulator.format(kind, scrollback=True)

    assert len(emulator.lines()) == emulator.rows


QUICK: dict[str, Callable[[], bytes]] = {
    "repeat without end": lambda: b"x\x1b[2147483647b",
    "a million parameters": lambda: b"\x1b[" + b"1;" * 1_000_000 + b"m",
    "a parameter of a million digits": lambda: b"\x1b[" + b"9" * 1_000_000 + b"C",
    "far scroll": lambda: b"\x1b[2147483647S\x1b[2147483647T\x1b[2147483647L",
    "far insert": lambda: b"\x1b[2147483647@\x1b[2147483647P\x1b[2147483647X",
    "far tab": lambda: b"\x1b[2147483647I\x1b[2147483647Z",
    "subparameters": lambda: b"\x1b[" + b"4:" * 100_000 + b"m",
    "intermediates": lambda: b"\x1b" + b"!" * 1_000_000 + b"p",
    "combining characters": lambda: b"e" + "\u0301".encode() * 100_000,
    "links": lambda: b"".join(b"\x1b]8;;http://%d/\x07x" % n for n in range(20_000)),
    "styles": lambda: b"".join(
        b"\x1b[38;2;%d;%d;%dmx" % (n >> 16, n >> 8 & 255, n & 255) for n in range(50_000)
    ),
    "titles pushed": lambda: b"\x1b]2;t\x07" + b"\x1b[22t" * 100_000,
    "keyboard modes pushed": lambda: b"\x1b[>1u" * 100_000,
}


@pytest.mark.serial
@pytest.mark.parametrize("data", QUICK.values(), ids=QUICK.keys())
def test_oversized_sequences_are_quick_and_harmless(data: Callable[[], bytes]) -> None:
    """
    Absurd numbers and lengths take no time, and text after them is shown.
    """
    emulator = fed(data())
    began = time.process_time()
    emulator.feed(data())
    took = time.process_time() - began

    emulator.feed(b"\x1bcok")

    assert took < 2
    assert emulator.text() == "ok"


def resident() -> int:
    """Return the bytes of memory this process occupies now."""
    return psutil.Process().memory_info().rss


@pytest.mark.parametrize(
    "introducer",
    [
        b"\x1b]2;",
        b"\x1b]52;c;",
        b"\x1b]8;;",
        b"\x1b]31337;",
        b"\x1bP",
        b"\x1bP+q",
        b"\x1b_G",
        b"\x1b^",
    ],
)
def test_an_endless_string_costs_no_memory(introducer: bytes) -> None:
    """
    Of a hundred megabytes of one sequence little is kept (OSC 52: 8 MB), and its end noticed.
    """
    emulator = fed(introducer)
    chunk = b"QUFB" * 250_000
    before = resident()

    for _ in range(100):
        emulator.feed(chunk)
    grown = resident() - before
    emulator.feed(b"\x1b\\ok")

    assert grown < 16 * 1024 * 1024
    assert emulator.text() == "ok"


def test_a_mapped_file_is_fed_without_a_copy() -> None:
    """
    A read-only view of a mapping is accepted, and released when the call returns.
    """
    emulator = Emulator(rows=5, cols=10)
    with tempfile.TemporaryFile() as file:
        file.write(b"mapped")
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            with memoryview(mapped) as view:
                emulator.feed(view[1:])
            emulator.feed(bytearray(b"!"))

    assert emulator.text() == "apped!"
