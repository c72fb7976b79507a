"""The verdict on a line: what it would run, judged by a policy. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent_pty.core.policy.both_ways import both_ways
from agent_pty.core.policy.family import declared, families
from agent_pty.core.policy.field import HOLE
from agent_pty.core.policy.followed import Followed, SubCommand
from agent_pty.core.policy.policy_file import BUILT_IN, Policy
from agent_pty.core.policy.shell_run import Follower
from agent_pty.core.policy.shell_scope import Scope

Action = Literal["allow", "require_approval", "deny"]
_ORDER = ("allow", "require_approval", "deny")
OPAQUE = "opaque execution"
# More is not followed: if it names a program of a family, somebody must look at it.
LONGEST = 65_536
_WORDS = (
    *("rm", "git", "terraform", "tofu", "terragrunt", "kubectl", "oc", "vault", "bao", "gh"),
    *("eval", "base64", "xargs", "find", "sh", "bash", "rmtree", "rmSync"),
)
_KEYWORDS = re.compile(r"^\s*(?:(?:then|do|else|elif|begin|if|while|until|not|and|or|time|!)\s+)*")
_VOCABULARY = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What may be done with a line: *rule* is the label, *span* the place of the reason in it."""

    action: Action
    rule: str | None = None
    span: tuple[int, int] | None = None
    reason: str | None = None


ALLOWED = Verdict(action="allow")


def judged(text: str, scope: Scope, policy: Policy = BUILT_IN) -> Verdict:
    """Judge text that a shell would run; *scope* is changed as the text would change it."""
    if len(text) > LONGEST:
        return _too_long(text)
    cases = both_ways(text, scope)
    return strictest([_strictest_of(one.found, one.scope, text, policy) for one in cases])


def stricter(first: Verdict, second: Verdict) -> Verdict:
    """Return the stricter of two verdicts; of equally strict ones the first."""
    return max(first, second, key=lambda one: _ORDER.index(one.action))


def followed(text: str, scope: Scope) -> Followed:
    """Return what a text would run, with empty variables where nobody has set them."""
    scope.assume("")
    follower = Follower(scope)
    try:
        follower.follow(text)
    except RecursionError:
        follower.opaque("too deep or too long", (0, len(text)))
    return follower.found


def _strictest_of(found: Followed, scope: Scope, text: str, policy: Policy) -> Verdict:
    each = [of_command(command, scope, policy) for command in found.commands]
    verdicts = [one for one in each if one is not ALLOWED]
    verdicts += _of_text(text, policy)
    if policy.builtin:
        verdicts.append(_of_the_rest(found, text))
    return strictest(verdicts)


def strictest(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the strictest verdict; of equally strict ones the first."""
    return max([*verdicts, ALLOWED], key=lambda one: _ORDER.index(one.action))


def of_command(command: SubCommand, scope: Scope, policy: Policy) -> Verdict:
    """Judge one sub-command: rules of the file first, which also may allow it."""
    rule = policy.strictest(command.argv) if policy.rules else None
    if rule is not None:
        shown = _shown(command)
        return Verdict(action=rule.action, rule=rule.label, span=command.span, reason=shown)
    label = next(families(command, scope), None) if policy.builtin else None
    return ALLOWED if label is None else asking(label, command.span, _shown(command))


def _shown(command: SubCommand) -> str:
    return " ".join(command.argv).replace(HOLE, "?")


def _of_text(text: str, policy: Policy) -> list[Verdict]:
    """Judge the text as a whole, as the seed does: patterns that forbid count anywhere in it."""
    return [
        Verdict(action=one.action, rule=one.label, span=(0, len(text)), reason="its pattern")
        for one in policy.forbidding(text)
    ]


def _of_the_rest(found: Followed, text: str) -> Verdict:
    """Judge comments, what nobody can know, and text that is none."""
    for comment, span in found.comments:
        label = declared(comment)
        if label is not None:
            return asking(label, span, "a comment declares it")
    for reason, span in found.opaque:
        return asking(OPAQUE, span, reason)
    return _doubtful(text) if found.doubtful else ALLOWED


def asking(label: str, span: tuple[int, int], reason: str) -> Verdict:
    """Return the verdict that an approval is needed."""
    return Verdict(action="require_approval", rule=label, span=span, reason=reason)


def _doubtful(text: str) -> Verdict:
    """Judge text that could not be read as a whole: without its quotes, word for word."""
    plain = re.sub(r"[\"'\\]", "", text)
    whole = followed(re.sub(r"[(){}<>`]", " ; ", plain), Scope())
    # Words of another shell, such as fish, are read piece by piece.
    pieces = [_KEYWORDS.sub("", one) for one in re.split(r"[;&|\n(){}<>`]+", plain)]
    parts = [followed(one, Scope()) for one in dict.fromkeys(pieces) if _VOCABULARY.search(one)]
    for command in [command for one in (whole, *parts) for command in one.commands]:
        label = next(families(command, Scope()), None)
        if label is not None:
            return asking(label, (0, len(text)), "the text cannot be read as a whole")
    return ALLOWED


def _too_long(text: str) -> Verdict:
    # To look for each by itself takes a tenth of the time of the pattern.
    named = any(one in text for one in _WORDS)
    word = _VOCABULARY.search(text) if named else None
    if word is None:
        return ALLOWED
    return asking(OPAQUE, word.span(), f"more than {LONGEST} characters, with {word.group()!r}")
