"""Checkpoints and journals together: also those that an earlier build wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent_pty.store.signing_key import public_keys
from agent_pty.store.verification import read_signed, recording_beside, verified
from support.evidence import REMOVED, Evidence

FORMATS = Path(__file__).parents[1] / "formats"
EVIDENCE = sorted(FORMATS.glob("*/evidence"))
RECORDED = sorted(FORMATS.glob("*/recorded"))


@pytest.mark.parametrize("left", EVIDENCE, ids=lambda one: one.parent.name)
def test_lif_11_evidence_of_earlier_builds_is_verified(left: Path, tmp_path: Path) -> None:
    """
    Every journal is what was signed, also by a key that was replaced; the chain can be continued.
    """
    home = tmp_path / "home"
    shutil.copytree(left, home)
    signed = read_signed(str(home / "checkpoints.jsonl"), public_keys(str(home / "keys")))

    results = {path.name: verified(str(path), signed) for path in home.glob("*.jsonl")}
    evidence = Evidence(home)
    evidence.remove("any", count=1, head="h")

    assert signed.broken is None
    assert {name: one.verdict.result for name, one in results.items()} == {
        "checkpoints.jsonl": "failed",  # it is no journal
        "other.jsonl": "verified",
        "work.jsonl": "verified",
        "work.dd6217cb4547579d.jsonl": "verified_to_checkpoint",
    }
    assert evidence.signed().broken is None


@pytest.mark.parametrize("left", RECORDED, ids=lambda one: one.parent.name)
def test_lif_11_recordings_of_earlier_builds_are_verified(left: Path) -> None:
    """
    Segments are what the journal says, and the chain knows which key was rotated and which lost.
    """
    signed = read_signed(str(left / "checkpoints.jsonl"), public_keys(str(left / "keys")))
    journals = [path for path in left.glob("*.jsonl") if path.name != "checkpoints.jsonl"]

    found = {
        path.name: verified(
            str(path), signed, recording=recording_beside(str(path), str(left), None)
        )
        for path in journals
    }

    assert {one.verdict.result for one in found.values()} == {"verified"}
    assert {name: one.segments for name, one in found.items()} == {
        "work.jsonl": 1,
        "other.jsonl": 1,
        "third.jsonl": 1,
    }
    assert len(signed.lost_keys) == 1


def test_checkpoints_are_known_by_instance(tmp_path: Path) -> None:
    """
    Each journal has its own, the last name counts, and they can be read again as they are stored.
    """
    evidence = Evidence(tmp_path)
    evidence.session("a", "one")
    evidence.session("b", "two")
    evidence.sign("a", "one")
    signed = evidence.signed()

    lines = evidence.checkpoints.read_bytes().splitlines()

    assert [one.count for one in signed.of("one")] == [3, 3]
    assert signed.name_of("two") == "b"
    assert list(signed.lines_of("one")) == [lines[0], lines[2]]
    assert list(signed.lines_of("nobody")) == []
    assert signed.of(None) == []


def test_a_removal_is_one_of_the_chain(tmp_path: Path) -> None:
    """
    It says what was removed, by whom and where the copy is, and nothing can be cut out after it.
    """
    evidence = Evidence(tmp_path)
    evidence.session("a", "one")
    (first,) = evidence.signed().of("one")
    evidence.remove("one", count=first.count, head=first.head)
    evidence.session("b", "two")
    signed = evidence.signed()

    removal = signed.removal_of("one")
    first_line, _, last_line = evidence.checkpoints.read_bytes().splitlines(keepends=True)
    evidence.checkpoints.write_bytes(first_line + last_line)

    assert removal is not None
    assert (removal.count, removal.head, removal.removed) == (3, first.head, REMOVED)
    assert signed.removal_of("two") is None
    assert evidence.signed().broken == "checkpoint 2: it does not follow the one before it"


def test_whoever_asked_may_stop_it(tmp_path: Path) -> None:
    """
    A daemon that ends need not read a long journal to its end.
    """
    evidence = Evidence(tmp_path)
    path = evidence.session("a", "one", events=5)
    seen: list[int] = []

    def pause() -> None:
        seen.append(1)
        if len(seen) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        verified(str(path), evidence.signed(), pause=pause)
