"""How emulators are made, freed, and what they cost."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from agent_pty.emulator import Emulator
from agent_pty.errors import BadRequest


def resident_kib() -> int:
    """Return the memory this process has to itself."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1])
    raise AssertionError("the kernel reports no Private_Dirty")


def test_a_closed_emulator_says_so() -> None:
    """
    Closing twice is fine; using it afterwards is a ValueError and no crash.
    """
    emulator = Emulator(rows=24, cols=80)
    emulator.close()
    emulator.close()

    for use in (emulator.text, emulator.modes, emulator.styled, emulator.snapshot):
        with pytest.raises(ValueError, match="closed"):
            use()
    with pytest.raises(ValueError, match="closed"):
        emulator.feed(b"x")


def test_an_emulator_nobody_holds_is_freed_at_once() -> None:
    """
    No cycle through the callbacks keeps it alive: the garbage collector is not needed.
    """
    gc.disable()
    try:
        emulator = Emulator(rows=24, cols=80)
        emulator.feed(b"\x07\x1b[c")
        seen = weakref.ref(emulator)
        del emulator

        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(("rows", "cols"), [(0, 80), (24, 0), (-1, 80), (1001, 80), (24, 65535)])
def test_absurd_sizes_are_refused(rows: int, cols: int) -> None:
    """
    The grid is allocated in full, so its size has a limit; a resize has the same.
    """
    with pytest.raises(BadRequest, match="is not within"):
        Emulator(rows=rows, cols=cols)
    with pytest.raises(BadRequest, match="is not within"):
        Emulator(rows=24, cols=80).resize(rows=rows, cols=cols)


def use_many(count: int) -> int:
    """Return the memory in KiB that *count* idle emulators add; they are gone afterwards."""
    before = resident_kib()
    idle = [Emulator(rows=24, cols=80) for _ in range(count)]
    for emulator in idle:
        emulator.feed(b"\x1b]2;shell\x07$ ")
    return resident_kib() - before


@pytest.mark.skipif(sys.platform != "linux", reason="smaps_rollup is Linux's")
def test_idle_emulators_are_small_and_do_not_leak() -> None:
    """
    An idle one costs less than 32 KiB, and the next five hundred live in what the last left.
    """
    first = use_many(500)
    before = resident_kib()
    for _ in range(3):
        use_many(500)

    assert first / 500 < 32
    assert resident_kib() - before < first / 2


def test_emulators_work_side_by_side_in_threads() -> None:
    """
    Different emulators share nothing: each thread sees its own.
    """
    shown: dict[int, str] = {}

    def work(number: int) -> None:
        emulator = Emulator(rows=5, cols=20)
        for _ in range(200):
            emulator.feed(b"\x1b[H\x1b[2J\x1b[3%dmthread %d\x07\x1b[c" % (number, number))
            emulator.styled()
            emulator.encode_key("up")
            emulator.take_replies()
        shown[number] = emulator.text()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert shown == {number: f"thread {number}" for number in range(6)}


def test_the_import_parses_no_c() -> None:
    """
    Neither pyghostty nor cffi's parser is loaded: both together would cost 300 ms.
    """
    script = (
        "import sys, agent_pty.emulator;"
        "print([name for name in ('pyghostty', 'cffi', 'pycparser') if name in sys.modules])"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout == "[]\n"
