"""Checkpoints and journals compared: every way to change a record shows."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent_pty.core.evidence.chain import sealed
from agent_pty.core.evidence.checkpoint import BadCheckpoint, Checkpoint, checked, digest, signed
from agent_pty.core.evidence.verdict import judged
from agent_pty.store.signing_key import is_signed, key_id

KEY = Ed25519PrivateKey.generate()
PUBLIC = KEY.public_key().public_bytes_raw()
NAME = key_id(PUBLIC)
KNOWN = {NAME: PUBLIC}


def journal(count: int, *, text: str = "event") -> list[bytes]:
    """Return the lines of a journal."""
    lines: list[bytes] = []
    head: str | None = None
    for number in range(1, count + 1):
        event = {"sequence": number, "instance": "one", "text": text}
        if head is not None:
            event["previous_hash"] = head
        line, head = sealed(json.dumps({**event, "event_hash": ""}, separators=(",", ":")).encode())
        lines.append(line)
    return lines


def chain(lines: list[bytes], *counts: int) -> list[bytes]:
    """Sign a journal at some of its events."""
    made: list[bytes] = []
    for number, count in enumerate(counts, start=1):
        one = Checkpoint(
            number=number,
            instance="one",
            name="work",
            count=count,
            head=json.loads(lines[count - 1])["event_hash"],
            closed=False,
            time="2026-01-01T00:00:00Z",
            previous=digest(made[-1]) if made else "",
            key=NAME,
        )
        made.append(signed(one, KEY.sign))
    return made


def opened(lines: list[bytes]) -> list[Checkpoint]:
    """Check the chain of checkpoints with the key that made it."""
    return list(checked(iter(lines), lambda *one: is_signed(KNOWN, *one)))


def test_a_journal_that_is_signed_to_its_end() -> None:
    """
    It is verified; with events after the last checkpoint, verified to that one.
    """
    lines = journal(20)

    whole = judged(lines, opened(chain(lines, 5, 20)))
    partly = judged(lines, opened(chain(lines, 5, 15)))
    not_at_all = judged(lines, [])

    assert (whole.result, whole.signed, whole.count) == ("verified", 20, 20)
    assert (partly.result, partly.signed) == ("verified_to_checkpoint", 15)
    assert (not_at_all.result, not_at_all.signed) == ("verified_to_checkpoint", 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:-10], "event 11: it is missing, 20 events were signed"),
        (lambda _lines: [], "event 1: it is missing"),
        (lambda _lines: journal(20, text="forged"), "event 5: another one was signed"),
        (lambda _lines: journal(30, text="forged"), "event 5: another one was signed"),
    ],
    ids=["cut", "emptied", "rewritten", "rewritten and longer"],
)
def test_log_05_07_what_a_chain_alone_cannot_show(
    change: Callable[[list[bytes]], list[bytes]], said: str
) -> None:
    """
    A cut end, an empty file, and a journal written anew with right hashes are found.
    """
    lines = journal(20)

    verdict = judged(change(lines), opened(chain(lines, 5, 20)))

    assert verdict.result == "failed"
    assert verdict.error is not None
    assert verdict.error.startswith(said)


@pytest.mark.parametrize(
    ("change", "number", "said"),
    [
        (lambda made: [made[0].replace(b'"count":5', b'"count":4'), *made[1:]], 1, "signature"),
        (lambda made: made[1:], 1, "does not follow"),
        (lambda made: [made[1], made[0]], 1, "does not follow"),
        (lambda made: [made[0], b"garbage"], 2, "no checkpoint"),
        (lambda made: [made[0], made[1][:-3] + b'"}'], 2, "no checkpoint"),
    ],
    ids=["changed", "removed", "swapped", "garbage", "short"],
)
def test_checkpoints_that_were_changed(
    change: Callable[[list[bytes]], list[bytes]], number: int, said: str
) -> None:
    """
    The first bad checkpoint is named.
    """
    made = chain(journal(20), 5, 10, 20)

    with pytest.raises(BadCheckpoint) as bad:
        opened(change(made))

    assert bad.value.number == number
    assert said in bad.value.reason


def test_another_key_is_not_trusted() -> None:
    """
    Whoever signs with a key of their own is found, whether that key is known or not.
    """
    lines = journal(5)
    other = Ed25519PrivateKey.generate()
    one = msgspec.structs.replace(opened(chain(lines, 5))[0], signature="")

    for name, said in ((NAME, "signature"), ("0123456789abcdef", "unknown key")):
        forged = signed(msgspec.structs.replace(one, key=name), other.sign)
        with pytest.raises(BadCheckpoint) as bad:
            opened([forged])
        assert said in bad.value.reason


def test_two_heads_for_one_count_fail_whichever_the_journal_has() -> None:
    """
    Somebody had a rewritten journal signed: the earlier signature still counts.
    """
    before, after = journal(3), journal(3, text="another")
    checkpoints = opened(chain(before, 3)) + [
        msgspec.structs.replace(one, number=2) for one in opened(chain(after, 3))
    ]

    for lines in (before, after):
        verdict = judged(lines, checkpoints)
        assert (verdict.result, verdict.error) == ("failed", "event 3: another one was signed")
