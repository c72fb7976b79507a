"""The verdict on a program that is about to be executed, by its real arguments. Pure.

What the session's own shell executes is judged as if it were typed: with all that it runs in its
turn, as far as its arguments tell. Further down only the program itself is judged, because what it
executes is asked about by itself. What a program does elsewhere, or without an exec, is not asked
about, so that counts for every program.

What nobody can know from the arguments needs no approval here, other than on a typed line: if it
executes anything, that is judged.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_pty.core.policy.carried_out import base
from agent_pty.core.policy.family import RM
from agent_pty.core.policy.field import HOLE, Field
from agent_pty.core.policy.followed import Nothing, SubCommand
from agent_pty.core.policy.interpreter import interpreter_code
from agent_pty.core.policy.policy_file import BUILT_IN, Policy
from agent_pty.core.policy.shell_run import Follower
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.verdict import ALLOWED, OPAQUE, Verdict, asking, of_command, strictest
from agent_pty.core.policy.wrapper import carried_out

_NOWHERE = (0, 0)
# They run commands on other machines, in containers, by a server, or inside of themselves.
_ELSEWHERE = frozenset(
    {"ssh", "mosh", "docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "crictl", "ctr"}
    | {"tmux", "screen", "at", "batch", "busybox", "toybox"}
)


def judged_exec(
    names: Sequence[str], argv: Sequence[str], *, typed: bool, policy: Policy = BUILT_IN
) -> Verdict:
    """Judge an exec by each of the program's *names*: the one it is given, and that of its file.

    *typed*: the session's own shell executes it.

    >>> judged_exec(["ls", "rm"], ["ls", "-rf", "build"], typed=False).rule
    'rm -rf'
    """
    return strictest([_judged(name, argv[1:], typed=typed, policy=policy) for name in names])


def runs_others(names: Sequence[str], argv: Sequence[str]) -> bool:
    """Whether a program runs others by what its arguments say, so that *typed* may matter."""
    return any(
        True
        for name in names
        for _ in carried_out([Field(name), *map(Field, argv[1:])], Scope(), stdin=None, piped=False)
    )


def unknown(reason: str) -> Verdict:
    """Return the verdict on an exec that cannot be judged."""
    return asking(OPAQUE, _NOWHERE, reason)


def _judged(name: str, words: Sequence[str], *, typed: bool, policy: Policy) -> Verdict:
    fields = [Field(name), *(Field(word) for word in words)]
    try:
        if typed or base(name) in _ELSEWHERE:
            return _followed(fields, policy)
        own = of_command(SubCommand(tuple(fields), _NOWHERE, {}), Scope(), policy)
        return strictest([own, _deletion(name, fields, policy)])
    except RecursionError:
        return unknown("too deep or too long")


def _followed(fields: list[Field], policy: Policy) -> Verdict:
    follower = Follower(Scope())
    follower.execute(fields, _NOWHERE, Nothing)
    found = follower.found
    return strictest([of_command(one, follower.scope, policy) for one in found.commands])


def _deletion(name: str, fields: list[Field], policy: Policy) -> Verdict:
    """Judge code of another language that deletes by itself, without another program."""
    if not policy.builtin:
        return ALLOWED
    code = interpreter_code(base(name), fields[1:], None, piped=False)
    if code is None or not code.deletes:
        return ALLOWED
    words = " ".join(one.text for one in fields).replace(HOLE, "?")
    return asking(RM, _NOWHERE, words)
