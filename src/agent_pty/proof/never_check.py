"""Whether nothing that a rule is about ran."""

from __future__ import annotations

from agent_pty.core.did_you_mean import did_you_mean
from agent_pty.core.evidence import event as events
from agent_pty.core.evidence.claim import BadClaim, Never, rule_word
from agent_pty.core.evidence.event_reader import ReadEvent
from agent_pty.core.policy.family import LABELS
from agent_pty.core.policy.policy_file import BUILT_IN, Policy
from agent_pty.core.policy.shell_line import labels
from agent_pty.core.policy.verdict import OPAQUE
from agent_pty.ops.proof_model import ClaimResult
from agent_pty.proof.claim_answer import answer, damaged
from agent_pty.proof.typed_command import typed_text

# What the guard says of an exec that went on.
_WENT_ON = frozenset({"approved", "covered", "recorded"})
_BUILT_IN_WORDS = frozenset(map(rule_word, (*LABELS, OPAQUE)))


class NeverCheck:
    """The claim that nothing of a rule ran; *policy* is the one in force now."""

    def __init__(self, claim: Never, policy: Policy) -> None:
        self._claim = claim
        self._rules = _Rules(policy)
        self._shown: list[int] = []
        # The guard stood before anything could be typed, and ever since.
        self._guarded: bool | None = None
        self._gates: list[int] = []
        # The code of a cell that is not typed yet: it may still be refused.
        self._waiting = ""

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        self._rules.feed(event)
        match event.payload:
            case events.GateStands(guard=guard):
                self._guarded = guard == "strict" and self._guarded is not False
                self._gates.append(event.sequence)
            case events.PolicyApproved(rule=rule):
                self._note(event, rule)
            case events.GuardedExec(rule=rule, result=result) if result in _WENT_ON:
                self._note(event, rule)
            case events.CellStarted(code=code):
                self._waiting = code
            case events.SendKeys(input="cell"):
                self._note_line(event, self._waiting)
            case events.SendKeys() as keys:
                self._note_line(event, typed_text(keys))
            case events.HostRecovered() | events.Gap() | events.Lost():
                self._guarded = False

    def _note_line(self, event: ReadEvent, text: str) -> None:
        if self._guarded is None:
            self._guarded = False  # something ran before the guard stood
        for label in labels(text):
            self._note(event, label)

    def _note(self, event: ReadEvent, rule: str) -> None:
        if rule_word(rule) == self._claim.rule:
            self._shown.append(event.sequence)

    def result(self, *, whole: bool) -> ClaimResult:
        """Judge everything that ran; raise `BadClaim` if there never was such a rule."""
        claim = self._claim
        if self._shown:
            return answer(claim, "false", "it is recorded as run", *self._shown)
        doubt = self._rules.doubt(claim)
        if not whole:
            return damaged(claim)
        if doubt is not None:
            return answer(claim, "undecidable", doubt, *self._gates)
        if self._guarded:
            reason = "the guard saw every exec from the start, and none was of this rule"
            return answer(claim, "true", reason, *self._gates)
        reason = "no line that was typed runs it, but the guard did not see every exec"
        return answer(claim, "undecidable", reason, *self._gates)


class _Rules:
    """Which rules a session had, as far as its record and the policy in force now tell.

    A record has the digests of policies and the rules that were met, not the policies themselves.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._labels = {rule_word(one.label) for one in policy.file.rules}
        self._digests: set[str] = set()
        self._met: set[str] = set()

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        match event.payload:
            case events.GateStands(policy_hash=digest):
                self._digests.add(digest)
            case events.PolicyReloaded(old_hash=old, new_hash=new):
                self._digests |= {old, new}
            case (
                events.PolicyDenied(rule=rule)
                | events.PolicyApproved(rule=rule)
                | events.GuardedExec(rule=rule)
            ):
                self._met.add(rule_word(rule))

    def doubt(self, claim: Never) -> str | None:
        """Say why the rule may not have been in force all the time; None: it was."""
        word = claim.rule
        if word in _BUILT_IN_WORDS:
            off = self._policy.digest in self._digests and not self._policy.builtin
            return "the policy of the session has no built-in rules" if off else None
        if word not in self._labels | self._met:
            return self._not_known(claim)
        if word in self._labels and self._digests == {self._policy.digest}:
            return None
        if word in self._met and len(self._digests) == 1:
            return None
        return "whether this rule was in force all the time is not known"

    def _not_known(self, claim: Never) -> str:
        """Refuse a word that is no rule; of a policy that is not known it may be one."""
        known = sorted(_BUILT_IN_WORDS | self._labels | self._met)
        near = did_you_mean(claim.rule, known)
        hint = f"; did you mean {near}?" if near else ""
        if self._digests and self._digests <= {BUILT_IN.digest, self._policy.digest}:
            listed = ", ".join(known)
            raise BadClaim(claim.text, f"no rule is named {claim.rule}{hint} (rules: {listed})")
        return f"the session's policy is not known, and no other has this rule{hint}"
