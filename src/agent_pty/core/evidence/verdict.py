"""Whether a journal is what the checkpoints say it was. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_pty.core.evidence.chain import ChainCheck
from agent_pty.core.evidence.checkpoint import Checkpoint

Result = Literal["verified", "verified_to_checkpoint", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is known of a journal; *signed* is how many of its events a checkpoint covers."""

    result: Result
    count: int
    head: str | None
    signed: int
    error: str | None


def judged(lines: Iterable[bytes], checkpoints: Sequence[Checkpoint]) -> Verdict:
    """Follow a journal from its beginning, and compare it with its checkpoints."""
    expected: defaultdict[int, set[str]] = defaultdict(set)
    for one in checkpoints:
        expected[one.count].add(one.head)
    most = max(expected, default=0)
    check = ChainCheck()
    for line in lines:
        if check.feed(line) is None:
            break
        wanted = expected.get(check.count)
        # Two that differ for one count: one of them was signed after the journal was rewritten.
        if wanted is not None and wanted != {check.head}:
            return _failed(check.count - 1, f"event {check.count}: another one was signed")
    if check.first_error is not None:
        return _failed(check.count, check.first_error)
    if check.count < most:
        missing = f"event {check.count + 1}: it is missing, {most} events were signed"
        return _failed(check.count, missing)
    result: Result = "verified" if check.count == most and most else "verified_to_checkpoint"
    return Verdict(result=result, count=check.count, head=check.head, signed=most, error=None)


def _failed(count: int, error: str) -> Verdict:
    return Verdict(result="failed", count=count, head=None, signed=0, error=error)
