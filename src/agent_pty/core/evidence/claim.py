"""Claims about a session, as people write them: `ran:pytest exit:0 after:last-change`. Pure."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

GRAMMAR = (
    'a claim is one of: "ran:COMMAND [exit:N] [after:last-change]", "never:RULE" '
    '(rm_rf, git_push_force, or the label of a rule of your own), "clean-tree"; '
    "quote a COMMAND of several words: \"ran:'make test' exit:0\""
)
_LAST_CHANGE = "last-change"


class BadClaim(ValueError):
    """A text is no claim; the message says how one is written."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"claim {text!r}: {why}; {GRAMMAR}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A command ran in a cell, with this exit code, after the last change of the work tree."""

    text: str
    words: tuple[str, ...]
    exit_code: int | None = None
    after_last_change: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """Nothing that a rule is about ran; *rule* is its label with `_` for everything but letters."""

    text: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanTree:
    """The work tree was as its last commit in the end."""

    text: str


Claim = Ran | Never | CleanTree


def rule_word(label: str) -> str:
    """Return the word by which a claim names a rule.

    >>> rule_word("rm -rf"), rule_word("git push --force")
    ('rm_rf', 'git_push_force')
    """
    return re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")


def parsed_claim(text: str) -> Claim:
    """Read a claim, or raise `BadClaim`."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadClaim(text, str(error).lower()) from error
    if not words:
        raise BadClaim(text, "it is empty")
    kind, colon, value = words[0].partition(":")
    if words == ["clean-tree"]:
        return CleanTree(text=text)
    if kind == "never" and colon and len(words) == 1 and rule_word(value):
        return Never(text=text, rule=rule_word(value))
    if kind == "ran" and value.split():
        return _ran(text, tuple(value.split()), words[1:])
    raise BadClaim(text, f"{words[0]!r} is not known" if len(words) == 1 else "it is not known")


def _ran(text: str, command: tuple[str, ...], options: list[str]) -> Ran:
    exit_code, after = None, False
    for option in options:
        name, _, value = option.partition(":")
        if name == "exit" and re.fullmatch(r"[0-9]{1,3}", value, re.ASCII):
            exit_code = int(value)
        elif name == "after" and value == _LAST_CHANGE:
            after = True
        else:
            raise BadClaim(text, f"{option!r} is not known")
    return Ran(text=text, words=command, exit_code=exit_code, after_last_change=after)
