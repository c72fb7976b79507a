"""Why a line is judged as it is: each command in it, and what the rules say of that. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from agent_pty.core.policy.family import declared
from agent_pty.core.policy.field import HOLE
from agent_pty.core.policy.policy_file import Policy
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.verdict import followed, of_command


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command, comment or unknown part; *said*: the verdict on it."""

    what: str
    span: tuple[int, int]
    said: str

    @property
    def place(self) -> str:
        """Where it stands, for people."""
        return f"{self.span[0]}-{self.span[1]}"


def explained(text: str, policy: Policy) -> list[Step]:
    """Return what was found in a text, in its order."""
    scope = Scope()
    found = followed(text, scope)
    steps = []
    for command in found.commands:
        verdict = of_command(command, scope, policy)
        said = verdict.action if verdict.rule is None else f"{verdict.action} ({verdict.rule})"
        words = " ".join(command.argv).replace(HOLE, "?")
        steps.append(Step(what=words, span=command.span, said=said))
    for reason, span in found.opaque:
        steps.append(Step(what=reason, span=span, said="require_approval (opaque execution)"))
    for comment, span in found.comments:
        label = declared(comment)
        said = "allow" if label is None else f"require_approval ({label})"
        steps.append(Step(what=f"comment {comment!r}", span=span, said=said))
    return sorted(steps, key=lambda one: one.span)
