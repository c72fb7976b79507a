"""The answer to a claim, with the events that show it."""

from __future__ import annotations

from agent_pty.core.evidence.claim import Claim
from agent_pty.ops.proof_model import ClaimResult

_MOST_EVENTS = 20


def answer(claim: Claim, result: str, reason: str, *shown: int | None) -> ClaimResult:
    """Return an answer; of many events the last are named."""
    found = [one for one in shown if one is not None][-_MOST_EVENTS:]
    return ClaimResult(
        claim=claim.text,
        result=result,  # type: ignore[arg-type]  # one of its three words
        reason=reason,
        events=found,
    )


def damaged(claim: Claim) -> ClaimResult:
    """Return the answer if the record cannot be trusted."""
    return answer(claim, "undecidable", "the record is damaged, or a part of it is missing")
