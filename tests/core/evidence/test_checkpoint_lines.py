"""The lines of a file of checkpoints: which are accepted, and which are not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
import pytest

from agent_pty.core.evidence.checkpoint import (
    REMOVAL_VERSION,
    BadCheckpoint,
    Checkpoint,
    Removal,
    checked,
    digest,
    signed,
)


def sign(data: bytes) -> bytes:
    """Sign as a key would, for whoever knows this function."""
    return hashlib.sha512(data).digest()


def is_signed(_key: str, signature: bytes, data: bytes) -> bool:
    """Check a signature."""
    return signature == sign(data)


def chain(count: int, **changes: object) -> list[bytes]:
    """Return the lines of a chain; *changes* are fields of each checkpoint."""
    lines: list[bytes] = []
    for number in range(1, count + 1):
        checkpoint = Checkpoint(
            number=number,
            instance=f"i{number % 2}",
            name="work",
            count=number,
            head="h",
            closed=False,
            time="now",
            previous=digest(lines[-1]) if lines else "",
            key="k",
        )
        lines.append(signed(msgspec.structs.replace(checkpoint, **changes), sign))
    return lines


def numbers(lines: Sequence[bytes], *, excerpt: bool = False) -> list[int]:
    """Return the numbers of the checkpoints that are accepted."""
    return [one.number for one in checked(iter(lines), is_signed, excerpt=excerpt)]


def test_a_whole_chain_has_every_line() -> None:
    """
    Each follows the one before it; without one in the middle or at the beginning it is broken.
    """
    lines = chain(4)

    assert numbers(lines) == [1, 2, 3, 4]
    for missing in (0, 1, 2):
        with pytest.raises(BadCheckpoint, match="does not follow"):
            numbers([line for place, line in enumerate(lines) if place != missing])


def test_an_excerpt_may_leave_lines_out_and_nothing_else() -> None:
    """
    Order and signatures count, and two lines that follow each other must fit together.
    """
    lines, others = chain(5), chain(5, name="other")

    assert numbers(lines[1::2], excerpt=True) == [2, 4]
    assert numbers(lines, excerpt=True) == [1, 2, 3, 4, 5]
    for wrong in ([lines[3], lines[1]], [lines[1], lines[1]], [lines[1], others[2]]):
        with pytest.raises(BadCheckpoint, match="does not follow"):
            numbers(wrong, excerpt=True)
    with pytest.raises(BadCheckpoint, match="its signature does not match"):
        numbers([lines[1].replace(b'"count":2', b'"count":9')], excerpt=True)


def test_a_line_without_a_removal_is_that_of_version_1() -> None:
    """
    Ordinary checkpoints are written as before; a removal has its own version.
    """
    removed = Removal(verdict="verified", forced=True, exported_to=None, by={})
    (plain,), (removal,) = chain(1), chain(1, removed=removed, version=REMOVAL_VERSION)

    assert b"removed" not in plain
    assert b'"version":1' in plain
    assert [one.removed for one in checked(iter([removal]), is_signed)] == [removed]


def test_lif_12_a_later_version_is_refused_by_its_number() -> None:
    """
    What this program cannot understand, it does not call good.
    """
    with pytest.raises(BadCheckpoint, match="format version 9, this program knows up to 3"):
        numbers(chain(1, version=9))
