"""What git and gh run by themselves: aliases, and settings whose value is a command."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_pty.core.policy.carried_out import Argv, Call, CarriedOut, Script
from agent_pty.core.policy.field import texts
from agent_pty.core.policy.git_setting import (
    LONG_WITH_VALUE,
    SHORT_WITH_VALUE,
    forces_pushes,
    settings_before,
)
from agent_pty.core.policy.option import Prefix, after_options, operands_of, verb_places

# Settings whose value is run by a shell.
_RUNS = re.compile(
    r"(?i)(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass)|sequence\.editor|diff\.external"
    r"|diff\..*\.(?:command|textconv)|merge\..*\.driver|filter\..*\.(?:clean|smudge|process)"
    r"|credential\.helper|gpg\.program|pager\..*|(?:difftool|mergetool)\..*\.cmd)"
)
_CONFIG_VALUES = frozenset({"--file", "--blob", "--type"})


def git(call: Call) -> Iterator[CarriedOut]:
    """Yield what aliases, settings and verbs of git run."""
    words, aliases = call.words, dict(call.scope.program_aliases)
    for at in verb_places(words, short=SHORT_WITH_VALUE, long=LONG_WITH_VALUE):
        for name, value in settings_before(words[:at]):
            if name.lower().startswith("alias."):
                aliases["git", name[6:]] = value or ""
            elif value and _RUNS.fullmatch(name):
                yield Script(value.lstrip("!"))
        alias = aliases.get(("git", words[at]))
        if alias is not None:
            yield _alias("git", alias, words[:at], words[at + 1 :])
        else:
            yield from _verb(call, at)


def _alias(program: str, alias: str, before: list[str], rest: list[str]) -> Script:
    if alias.startswith("!"):
        return Script(" ".join([alias[1:], *rest]))
    return Script(" ".join([program, *before, alias, *rest]))


def _config(call: Call, rest: list[str]) -> Iterator[CarriedOut]:
    """Remember aliases and settings that later commands follow."""
    given = operands_of(rest, short="f", long=_CONFIG_VALUES)
    given = given[1:] if given[:1] == ["set"] else given
    if len(given) < 2:  # noqa: PLR2004  name and value
        return
    name, value = given[0].lower(), given[1]
    if name.startswith("alias."):
        call.scope.program_aliases["git", given[0][6:]] = value
    elif forces_pushes(name, value):
        call.scope.force_pushes()
    elif _RUNS.fullmatch(name):
        yield Script(value.lstrip("!"))


def _verb(call: Call, at: int) -> Iterator[CarriedOut]:
    verb, rest, fields = call.words[at], call.words[at + 1 :], call.rest[at + 1 :]
    if verb == "config":
        yield from _config(call, rest)
    elif verb == "remote" and {"--mirror", "--mirror=push"} & set(rest):
        call.scope.force_pushes()
    elif verb == "submodule" and "foreach" in rest:
        inner = after_options(fields[rest.index("foreach") + 1 :], Prefix())
        if inner:
            yield Script(" ".join(texts(inner)))
    elif verb == "bisect" and rest[:1] == ["run"] and len(fields) > 1:
        yield Argv(fields[1:])
    elif verb in ("rebase", "filter-branch", "difftool", "mergetool"):
        for number, word in enumerate(rest):
            name, sign, value = word.partition("=")
            if name in ("-x", "--exec", "--extcmd") or name.endswith("-filter"):
                yield Script(value if sign else " ".join(rest[number + 1 : number + 2]))


def gh(call: Call) -> Iterator[CarriedOut]:
    """Yield what an alias of gh stands for, and remember new ones."""
    words = call.words
    if words[:2] == ["alias", "set"]:
        given = operands_of(words[2:])
        if len(given) > 1:
            shell = "!" if {"-s", "--shell"} & set(words) else ""
            call.scope.program_aliases["gh", given[0]] = shell + given[1]
        return
    alias = call.scope.program_aliases.get(("gh", words[0])) if words else None
    if alias is not None:
        yield _alias("gh", alias, [], words[1:])
