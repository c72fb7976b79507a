"""Programs that run exactly one other program and end as it ends. Pure.

Only options that are known to change nothing about this are accepted: `sudo -b` ends at once,
`command -v` runs nothing, `env -S` reads text.
"""

from __future__ import annotations

from typing import NamedTuple

from agent_pty.core.policy.carried_out import base
from agent_pty.core.policy.field import Field
from agent_pty.core.policy.option import Prefix, after_options, takes_next
from agent_pty.core.policy.prefix import PREFIXES

# Above every exit code: nothing but the command itself can have ended so.
NO_WRAPPER = 256
ANY_FAILURE = 1


class _Passing(NamedTuple):
    """How such a program is called.

    *own* is the least exit code that may be its own; *letters* and *long* are options without a
    value.
    """

    own: int
    prefix: Prefix = Prefix()
    letters: str = ""
    long: frozenset[str] = frozenset()


class Inner(NamedTuple):
    """The program that is run, and the least exit code that may not be its own."""

    fields: list[Field]
    own: int


_PASSING = {
    "env": _Passing(
        125,
        Prefix("uC", frozenset({"--unset", "--chdir"}), assigns=True),
        "i",
        frozenset({"--ignore-environment"}),
    ),
    "nice": _Passing(125, PREFIXES["nice"], "0123456789"),
    "nohup": _Passing(125),
    "stdbuf": _Passing(125, Prefix("ioe", frozenset({"--input", "--output", "--error"}))),
    "time": _Passing(126, PREFIXES["time"], "pva"),
    "timeout": _Passing(
        124, PREFIXES["timeout"], "fpv", frozenset({"--foreground", "--preserve-status"})
    ),
    "command": _Passing(126, letters="p"),
    "exec": _Passing(126, PREFIXES["exec"], "cl"),
    "ionice": _Passing(ANY_FAILURE, Prefix("cn", frozenset({"--class", "--classdata"})), "t"),
    "sudo": _Passing(
        ANY_FAILURE,
        PREFIXES["sudo"],
        "AEHPSn",
        frozenset({"--non-interactive", "--preserve-env", "--set-home", "--stdin"}),
    ),
    "doas": _Passing(ANY_FAILURE, Prefix("u"), "n"),
    "xvfb-run": _Passing(
        ANY_FAILURE,
        Prefix("efnspw", frozenset({"--server-num", "--server-args"})),
        "a",
        frozenset({"--auto-servernum"}),
    ),
}
_VERBS = frozenset({("uv", "run"), ("poetry", "run"), ("bundle", "exec")})


def inner_program(fields: list[Field]) -> Inner | None:
    """Return what a command runs if it ends as that does; None: it does not, or it is not sure."""
    name = base(fields[0].text)
    if len(fields) > 2 and (name, fields[1].text) in _VERBS:  # noqa: PLR2004  and a program
        return Inner(fields[2:], ANY_FAILURE)
    passing = _PASSING.get(name)
    if passing is None:
        return None
    inner = after_options(fields[1:], passing.prefix)
    skipped = fields[1 : len(fields) - len(inner)]
    if not inner or not _is_harmless(skipped, passing):
        return None
    return Inner(inner, passing.own)


def _is_harmless(skipped: list[Field], passing: _Passing) -> bool:
    """Whether all words before the program are known, and all options of them accepted."""
    if any(one.glob or not one.known for one in skipped):
        return False
    is_value = False
    for word in (one.text for one in skipped):
        if is_value:
            is_value = False
        elif word == "--" or not word.startswith("-"):
            return True
        elif _is_accepted(word, passing):
            is_value = takes_next(word, passing.prefix.short, passing.prefix.long)
        else:
            return False
    return True


def _is_accepted(option: str, passing: _Passing) -> bool:
    if option.startswith("--"):
        return option.partition("=")[0] in passing.long | passing.prefix.long
    for letter in option[1:]:
        if letter in passing.prefix.short:
            return True
        if letter not in passing.letters:
            return False
    return True
