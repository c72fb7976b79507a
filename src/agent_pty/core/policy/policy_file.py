"""Policy files: the seed's JSON with rules by pattern, and ours by arguments. Pure.

A file is taken as a whole or not at all: keys that are not known, patterns that do not compile and
examples that do not hold are errors that name the rule.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
from collections import Counter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from agent_pty.core.guard_mode import GuardMode
from agent_pty.core.pattern import BadPattern, linear
from agent_pty.core.policy.approver_secret import is_digest
from agent_pty.errors import BadConfig

# What an operator must show: nothing but to be outside of every session; a terminal there; or the
# secret whose digest is in the file.
Approver = Literal["any", "tty", "secret"]
RuleAction = Literal["allow", "require_approval", "deny"]
# In a row of patterns: any number of arguments.
_ANY = "**"


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule: by a *pattern* over a sub-command's words, or by a pattern for each *argv* word.

    A rule that allows must cover all of a sub-command. *matches* and *passes* are examples that it
    must match, or must not.
    """

    label: Annotated[str, Meta(min_length=1)]
    pattern: Annotated[str, Meta(min_length=1)] | None = None
    argv: Annotated[list[str], Meta(min_length=1)] | None = None
    action: RuleAction = "require_approval"
    matches: list[str] = []
    passes: list[str] = []


class PolicyFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file says.

    *self_approval*: who asks for an approval may also grant it. *approver*: what an operator must
    show. *ask_user*: MCP clients may ask their user. *agent_secrets*: agents may type into prompts
    that show nothing. *held*: for how many seconds a program waits for an approval.
    """

    builtin_rules: bool = True
    rules: list[Rule] = []
    self_approval: bool = False
    approver: Approver = "any"
    approver_secret: str | None = None
    ask_user: bool = False
    agent_secrets: bool = False
    held: Annotated[int, Meta(ge=0, le=86_400)] = 600
    guard: GuardMode | None = None


class CompiledRule(Struct, frozen=True, kw_only=True):
    """A rule that can be asked."""

    rule: Rule
    program: Any

    def covers(self, argv: list[str]) -> bool:
        """Whether the rule is about this sub-command."""
        if self.rule.argv is not None:
            return _fits(self.rule.argv, argv)
        words = " ".join(argv)
        if self.rule.action == "allow":
            return self.program.fullmatch(words) is not None
        return self.program.search(words) is not None


class Policy(Struct, frozen=True, kw_only=True):
    """The rules in force; *digest* names the file they come from."""

    rules: tuple[CompiledRule, ...] = ()
    file: PolicyFile = PolicyFile()
    digest: str = hashlib.sha256(b"").hexdigest()

    @property
    def builtin(self) -> bool:
        """Whether the built-in families count."""
        return self.file.builtin_rules

    def strictest(self, argv: list[str]) -> Rule | None:
        """Return the rule that decides on a sub-command: deny, then approval, then allow."""
        found = [one.rule for one in self.rules if one.covers(argv)]
        order = ("deny", "require_approval", "allow")
        return min(found, key=lambda one: order.index(one.action), default=None)

    def forbidding(self, text: str) -> list[Rule]:
        """Return the rules that do not allow and whose patterns are found in a text."""
        found = [
            one for one in self.rules if one.rule.action != "allow" and one.program is not None
        ]
        return [one.rule for one in found if one.program.search(text) is not None]


BUILT_IN = Policy()


def parsed_policy(text: bytes, *, path: str) -> Policy:
    """Read a policy file, or say what is wrong with it."""
    try:
        found = msgspec.convert(json.loads(text), PolicyFile)
    except (ValueError, RecursionError) as error:
        raise BadConfig(f"parse policy {path}: {error}", path=path) from error
    if found.approver == "secret" and not is_digest(found.approver_secret or ""):
        remedy = "approver_secret must be what `agent-pty policy secret` prints"
        raise BadConfig(f"parse policy {path}: {remedy}", path=path)
    labels = Counter(rule.label for rule in found.rules)
    for label, count in labels.items():
        if count > 1:
            raise BadConfig(f"parse policy {path}: {count} rules have the label {label!r}")
    rules = tuple(_compiled(rule, path) for rule in found.rules)
    return Policy(rules=rules, file=found, digest=hashlib.sha256(text).hexdigest())


def _compiled(rule: Rule, path: str) -> CompiledRule:
    """Make a rule that can be asked, and see that its examples hold."""
    if (rule.pattern is None) == (rule.argv is None):
        raise _mistake(path, rule, "needs pattern or argv")
    program = None if rule.pattern is None else _program(rule.pattern, path)
    if rule.action == "allow" and program is not None and program.fullmatch("") is not None:
        raise _mistake(path, rule, "would allow everything")
    made = CompiledRule(rule=rule, program=program)
    for example in rule.matches:
        if not made.covers(example.split()):
            raise _mistake(path, rule, f"does not match its example {example!r}")
    for example in rule.passes:
        if made.covers(example.split()):
            raise _mistake(path, rule, f"matches its example {example!r}")
    return made


def _mistake(path: str, rule: Rule, what: str) -> BadConfig:
    return BadConfig(f"parse policy {path}: rule {rule.label!r} {what}", path=path)


def _program(pattern: str, path: str) -> Any:
    try:
        return linear(pattern)
    except BadPattern as error:
        raise BadConfig(f"compile policy regex {pattern}: {error}", path=path) from error


def _fits(patterns: list[str], argv: list[str]) -> bool:
    """Whether each argument fits its pattern; `**` stands for any number of them.

    >>> _fits(["git", "push", "**", "--force*"], ["git", "push", "origin", "--force"])
    True
    """
    if not patterns:
        return not argv
    if patterns[0] == _ANY:
        return any(_fits(patterns[1:], argv[at:]) for at in range(len(argv) + 1))
    if not argv or not fnmatch.fnmatchcase(argv[0], patterns[0]):
        return False
    return _fits(patterns[1:], argv[1:])
