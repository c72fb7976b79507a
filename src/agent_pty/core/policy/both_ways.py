"""Follows text for two cases: a variable that nobody was seen to set is empty, or it is anything.

Both are the same for most statements. One that asks for such a variable is followed twice; what
comes after it is, too, once the two shells would remember different things.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent_pty.core.policy.field import HOLE
from agent_pty.core.policy.followed import Followed, Place
from agent_pty.core.policy.shell_run import Follower
from agent_pty.core.policy.shell_scope import Scope


@dataclass(slots=True)
class Case:
    """What was found in one of the cases, and what its shell remembers."""

    scope: Scope
    found: Followed = field(default_factory=Followed)


def both_ways(text: str, scope: Scope) -> list[Case]:
    """Follow text, and change *scope* as it would; where the cases differ, as in the second one.

    The first case has all that was found; a second one, if there is any, what was found besides.
    """
    scope.assume("")
    follower = Follower(scope.inner(scope.positional))
    found: list[Case] = [Case(follower.scope, follower.found)]
    try:
        _follow(text, follower, found)
    except RecursionError:
        follower.opaque("too deep or too long", (0, len(text)))
    scope.become(found[-1].scope)
    return found


def _follow(text: str, follower: Follower, found: list[Case]) -> None:
    scope, besides = follower.scope, Followed()
    differs: Scope | None = None
    tree = follower.read(text)
    for node in tree.root.named_children:
        before = scope.inner(scope.positional) if differs is None else differs
        scope.assume("")
        follower.step(node, tree)
        if differs is None and not scope.missing.used:
            continue
        before.assume(HOLE)
        Follower(before, Place(besides)).step(node, tree)
        differs = None if before == scope else before
        found[1:] = [Case(scope if differs is None else differs, besides)]
