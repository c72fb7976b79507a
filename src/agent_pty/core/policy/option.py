"""Options of command lines: where they end, and which of them take a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from agent_pty.core.policy.field import Field

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_NONE: frozenset[str] = frozenset()


class Prefix(NamedTuple):
    """How a program that runs another one is called, up to that one.

    *short* are letters whose value may be the next word, *long* the same of long options;
    the value of a letter in *attached* is the rest of its word and never the next one.
    *operands* stand between the options and the program.
    """

    short: str = ""
    long: frozenset[str] = _NONE
    operands: int = 0
    assigns: bool = False
    attached: str = ""


class Option(NamedTuple):
    """An option as it was given: its name with the dashes, and its value."""

    name: str
    value: Field | None = None


def read_options(
    fields: list[Field], prefix: Prefix, *, everywhere: bool = False
) -> tuple[list[Option], list[Field]]:
    """Return the options of a command line and the words after them.

    *everywhere*: options may also follow operands, as GNU programs take them.
    """
    options: list[Option] = []
    operands: list[Field] = []
    left = list(fields)
    while left:
        word = left[0].text
        if word == "--":
            return options, [*operands, *left[1:]]
        if not word.startswith("-") or word == "-":
            if not everywhere:
                return options, left
            operands.append(left.pop(0))
            continue
        waits = takes_next(word, prefix.short, prefix.long, prefix.attached) and len(left) > 1
        options += _options_in(word, prefix, left[1] if waits else None)
        del left[: 2 if waits else 1]
    return options, operands


def _options_in(word: str, prefix: Prefix, following: Field | None) -> list[Option]:
    """Return a long option, or the short ones of a word; the last of them may have a value."""
    if word.startswith("--"):
        name, sign, value = word.partition("=")
        return [Option(name, Field(value) if sign else following)]
    found: list[Option] = []
    for at, letter in enumerate(word[1:], start=2):
        if letter in prefix.short or letter in prefix.attached:
            value = word[at:]
            return [*found, Option(f"-{letter}", Field(value) if value else following)]
        found.append(Option(f"-{letter}"))
    return found


def values_of(options: list[Option], *names: str) -> list[str]:
    """Return the values that some of the options were given."""
    return [one.value.text for one in options if one.name in names and one.value is not None]


def after_options(fields: list[Field], prefix: Prefix) -> list[Field]:
    """Return what follows the options and operands of a prefix."""
    at = 0
    while at < len(fields):
        word = fields[at].text
        if word == "--":
            at += 1
            break
        if not word.startswith("-") or word == "-":
            break
        at += 2 if takes_next(word, prefix.short, prefix.long, prefix.attached) else 1
    at += prefix.operands
    while prefix.assigns and at < len(fields) and _ASSIGNMENT.fullmatch(fields[at].text):
        at += 1
    return fields[at:]


def takes_next(word: str, short: str, long: frozenset[str], attached: str = "") -> bool:
    """Whether the value of an option is the next word."""
    if word.startswith("--"):
        return "=" not in word and word in long
    letters = word[1:]
    for number, letter in enumerate(letters):
        if letter in short or letter in attached:
            return letter in short and number == len(letters) - 1
    return False


def verb_places(
    words: list[str], *, short: str = "", long: frozenset[str] = _NONE, one_dash: bool = False
) -> Iterator[int]:
    """Yield where the verb of a tool may stand.

    A long option that is not known may take the next word or not, so both readings count.
    *one_dash*: long options may begin with one dash, as in programs written in Go.
    """
    at, doubtful = 0, False
    while at < len(words):
        word = words[at]
        if word == "--":
            yield from range(at + 1, len(words))[:1]
            return
        if word.startswith("-"):
            known = takes_next(word, short, long)
            doubtful = not known and "=" not in word and (one_dash or word.startswith("--"))
            at += 2 if known else 1
            continue
        yield at
        if not doubtful:
            return
        at, doubtful = at + 1, False


def is_dry_run(words: list[str], *, short_with_value: str) -> bool:
    """Whether git only shows what it would do: the last option that says so counts."""
    dry = False
    for word in words:
        if word == "--":
            break
        if abbreviates([word], "--dry-run", shortest=4):
            dry = True
        elif abbreviates([word], "--no-dry-run", shortest=6):
            dry = False
        elif "n" in letters_of([word], short_with_value=short_with_value):
            dry = True
    return dry


def letters_of(words: list[str], *, short_with_value: str = "") -> set[str]:
    """Return the letters of all short options before `--`."""
    found: set[str] = set()
    for word in words:
        if word == "--":
            break
        if word.startswith("-") and not word.startswith("--"):
            for letter in word[1:]:
                found.add(letter)
                if letter in short_with_value:
                    break
    return found


def long_options(words: list[str]) -> list[str]:
    """Return the names of all long options before `--`, without their values."""
    found = []
    for word in words:
        if word == "--":
            break
        if word.startswith("--"):
            found.append(word.partition("=")[0])
    return found


def abbreviates(given: list[str], name: str, *, shortest: int = 3) -> bool:
    """Whether one of the options is this one, or an abbreviation of it."""
    return any(len(one) >= shortest and name.startswith(one) for one in given)


def operands_of(words: list[str], *, short: str = "", long: frozenset[str] = _NONE) -> list[str]:
    """Return the words that are no options and no values of options."""
    found: list[str] = []
    skip = only = False
    for word in words:
        if skip:
            skip = False
        elif only or not word.startswith("-") or word == "-":
            found.append(word)
        elif word == "--":
            only = True
        else:
            skip = takes_next(word, short, long)
    return found
