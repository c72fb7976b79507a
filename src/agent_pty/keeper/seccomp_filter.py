"""The filter that makes the kernel ask before every exec: a program in classic BPF. Pure.

Every way in counts: on x86_64 also the calls of 32-bit programs and those of the x32 ABI, on
aarch64 also those of 32-bit programs. All other calls pass unasked.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

# What the filter can read of a call: `struct seccomp_data`.
_NUMBER, _ARCHITECTURE = 0, 4
# Instructions: load a word, mask it, jump if it is equal, answer.
_LOAD, _AND, _JUMP_IF, _ANSWER = 0x20, 0x54, 0x15, 0x06
ALLOW = 0x7FFF0000
ASK = 0x7FC00000
REFUSE = 0x00050001  # with EPERM
# A call of the x32 ABI has this bit. Old kernels also take numbers of x32 without it.
_X32 = 0x40000000
_ALL = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The numbers of execve and execveat for one kind of program; *at*: those of execveat."""

    architecture: int
    numbers: Sequence[int]
    at: Sequence[int]
    mask: int = _ALL
    # These pass pointers of 32 bits.
    narrow: Sequence[int] = ()


_X86_64 = Calls(
    architecture=0xC000003E,
    numbers=(59, 322, 520, 545),
    at=(322, 545),
    mask=_ALL ^ _X32,
    narrow=(520, 545),
)
_I386 = Calls(architecture=0x40000003, numbers=(11, 358), at=(358,), narrow=(11, 358))
_AARCH64 = Calls(architecture=0xC00000B7, numbers=(221, 281), at=(281,))
_ARM = Calls(architecture=0x40000028, numbers=(11, 387), at=(387,), narrow=(11, 387))
# By the name that `uname -m` has for the machine.
MACHINES = {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64, _ARM)}


def calls_of(machine: str, architecture: int) -> Calls | None:
    """Return the numbers of a program's kind; None: this machine runs no such programs."""
    kinds = MACHINES.get(machine, ())
    return next((one for one in kinds if one.architecture == architecture), None)


def instructions(kinds: Sequence[Calls]) -> list[tuple[int, int, int, int]]:
    """Return the filter; an instruction is a code, two distances to jump, and a number."""
    program = [(_LOAD, 0, 0, _ARCHITECTURE)]
    for kind in kinds:
        block = _block(kind)
        program += [(_JUMP_IF, 0, len(block), kind.architecture), *block]
    return [*program, (_ANSWER, 0, 0, REFUSE)]


def _block(kind: Calls) -> list[tuple[int, int, int, int]]:
    count = len(kind.numbers)
    # Each comparison jumps over the ones after it, and over the answer that allows.
    compare = [(_JUMP_IF, count - at, 0, number) for at, number in enumerate(kind.numbers)]
    head = [(_LOAD, 0, 0, _NUMBER), (_AND, 0, 0, kind.mask)]
    return [*head, *compare, (_ANSWER, 0, 0, ALLOW), (_ANSWER, 0, 0, ASK)]


def encoded(program: Sequence[tuple[int, int, int, int]]) -> bytes:
    """Return the filter as the kernel takes it."""
    return b"".join(struct.pack("=HBBI", *one) for one in program)
