"""Whether claims hold, by the events of a record. Pure; fed with all events, asked at the end.

A claim is true or false only if events show it. What the record cannot show is undecidable.
"""

from __future__ import annotations

from typing import Protocol

from agent_pty.core.evidence import event as events
from agent_pty.core.evidence.claim import Claim, CleanTree, Never, Ran
from agent_pty.core.evidence.event_reader import ReadEvent
from agent_pty.core.policy.policy_file import Policy
from agent_pty.ops.proof_model import ClaimResult
from agent_pty.proof.claim_answer import answer, damaged
from agent_pty.proof.never_check import NeverCheck
from agent_pty.proof.ran_check import RanCheck


class ClaimCheck(Protocol):
    """One claim."""

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""

    def result(self, *, whole: bool) -> ClaimResult:
        """Return the answer; *whole*: the record is verified, and none of it is missing.

        Raise `BadClaim` if the record shows that the claim means nothing.
        """


def check_of(claim: Claim, policy: Policy) -> ClaimCheck:
    """Return what decides a claim; *policy* is the one in force now."""
    match claim:
        case Ran():
            return RanCheck(claim)
        case Never():
            return NeverCheck(claim, policy)
        case CleanTree():
            return _CleanTreeCheck(claim)


class _CleanTreeCheck:
    def __init__(self, claim: CleanTree) -> None:
        self._claim = claim
        self._clean: tuple[int, bool] | None = None
        self._doubt: int | None = None

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        if event.tree is not None:
            self._clean, self._doubt = (event.sequence, event.tree.clean), None
        elif isinstance(event.payload, events.Gap | events.Lost):
            self._doubt = event.sequence

    def result(self, *, whole: bool) -> ClaimResult:
        """Judge the last snapshot."""
        claim = self._claim
        if self._clean is None:
            return answer(claim, "undecidable", "the record has no snapshot of a work tree")
        place, clean = self._clean
        if not clean:
            reason = "the last snapshot has files that differ from the commit"
            return answer(claim, "false", reason, place)
        if self._doubt is not None:
            reason = "the session was not followed to its end after the last snapshot"
            return answer(claim, "undecidable", reason, place, self._doubt)
        if not whole:
            return damaged(claim)
        return answer(claim, "true", "the last snapshot is that of a clean tree", place)
