"""The chain of a journal: what was changed is found, and where."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from agent_pty.core.evidence.chain import ChainCheck, sealed

COUNT = 1000


def journal() -> list[bytes]:
    """Return the lines of a journal."""
    lines: list[bytes] = []
    head: str | None = None
    for number in range(1, COUNT + 1):
        event = {"sequence": number, "instance": "one", "text": f"event {number} \u2028"}
        if head is not None:
            event["previous_hash"] = head
        line, head = sealed(json.dumps({**event, "event_hash": ""}, separators=(",", ":")).encode())
        lines.append(line)
    return lines


def checked(lines: list[bytes]) -> ChainCheck:
    """Check a journal to its end."""
    check = ChainCheck()
    for line in lines:
        check.feed(line)
    return check


def test_log_01_a_whole_chain() -> None:
    """
    Every event has its number, and the head is the hash of the last.
    """
    lines = journal()

    check = checked(lines)

    assert (check.count, check.first_error) == (COUNT, None)
    assert check.head == json.loads(lines[-1])["event_hash"]


def swapped(lines: list[bytes]) -> list[bytes]:
    """Swap two events."""
    return [*lines[:499], lines[500], lines[499], *lines[501:]]


def changed(lines: list[bytes]) -> list[bytes]:
    """Change one byte of the content."""
    return [*lines[:499], lines[499].replace(b"event 500", b"event 501"), *lines[500:]]


def reordered(lines: list[bytes]) -> list[bytes]:
    """Write one event anew, with a blank more: the same content for any reader."""
    return [*lines[:499], lines[499].replace(b'"instance":', b'"instance": '), *lines[500:]]


def resealed(line: bytes, **changes: str) -> bytes:
    """Change an event, and give it the hash that belongs to it then."""
    event = {**json.loads(line), **changes, "event_hash": ""}
    return sealed(json.dumps(event, separators=(",", ":")).encode())[0]


def forged(lines: list[bytes]) -> list[bytes]:
    """Replace one event by another that has a hash of its own."""
    return [*lines[:499], resealed(lines[499], text="forged"), *lines[500:]]


def spliced(lines: list[bytes]) -> list[bytes]:
    """Go on with an event of another instance."""
    return [*lines[:499], resealed(lines[499], instance="two")]


@pytest.mark.parametrize(
    ("damage", "first_bad", "said"),
    [
        (changed, 500, "its hash does not match"),
        (reordered, 500, "its hash does not match"),
        (lambda lines: [*lines[:499], *lines[500:]], 500, "it has sequence 501"),
        (swapped, 500, "it has sequence 501"),
        (forged, 501, "its previous hash does not match"),
        (spliced, 500, "another session instance"),
        (lambda lines: [*lines[:499], b"garbage", *lines[499:]], 500, "no event_hash"),
    ],
    ids=["changed", "blank", "removed", "swapped", "forged", "spliced", "garbage"],
)
def test_log_02_to_04_damage_is_named(
    damage: Callable[[list[bytes]], list[bytes]], first_bad: int, said: str
) -> None:
    """
    The first bad event is named, and those before it are known to be good.
    """
    check = checked(damage(journal()))

    assert check.count == first_bad - 1
    assert check.first_error is not None
    assert check.first_error.startswith(f"event {first_bad}: ")
    assert said in check.first_error
