"""The filter's program, run by a small machine of our own: which calls it asks about."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from agent_pty.keeper.seccomp_filter import (
    ALLOW,
    ASK,
    MACHINES,
    REFUSE,
    calls_of,
    encoded,
    instructions,
)

X86_64, I386, AARCH64, ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
X32 = 0x40000000


def run(machine: str, architecture: int, number: int) -> int:
    """Run the filter as the kernel would; return its answer."""
    program = instructions(MACHINES[machine])
    data = struct.pack("=II", number, architecture)
    at = accumulator = 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == 0x54:
            accumulator &= value
        else:
            assert code == 0x15
            at += if_true if accumulator == value else if_false


@pytest.mark.parametrize(
    ("machine", "architecture", "numbers"),
    [
        ("x86_64", X86_64, (59, 322, X32 | 520, X32 | 545, 520, 545, X32 | 59, X32 | 322)),
        ("x86_64", I386, (11, 358)),
        ("aarch64", AARCH64, (221, 281)),
        ("aarch64", ARM, (11, 387)),
    ],
)
def test_every_exec_is_asked_about(machine: str, architecture: int, numbers: Sequence[int]) -> None:
    """
    Execve and execveat are asked about whatever ABI a program uses, and nothing else is.
    """
    asked = {number for number in range(1200) if run(machine, architecture, number) == ASK}

    assert all(run(machine, architecture, number) == ASK for number in numbers)
    assert asked == {number for number in numbers if number < X32}
    assert run(machine, architecture, 0) == ALLOW


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_programs_of_another_kind_can_do_nothing(machine: str) -> None:
    """
    A kind of program that the machine does not know of is not let through unasked.
    """
    assert run(machine, 0x12345678, 59) == REFUSE
    assert calls_of(machine, 0x12345678) is None


def test_an_instruction_has_eight_bytes() -> None:
    """
    The kernel takes the number of instructions and a row of eight bytes for each.
    """
    program = instructions(MACHINES["x86_64"])

    assert len(encoded(program)) == 8 * len(program)
