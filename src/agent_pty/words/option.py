"""`k`'s own way with options: they come before the first word, which ends them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agent_pty.core.duration import seconds
from agent_pty.errors import BadRequest
from agent_pty.words.call import Refusal

_WEEK = 7 * 24 * 3600
# The same words as in `agent-pty`.
LONG = {"--json": "-j", "--timeout": "-t", "--until": "-u"}
_LIMIT = "-t"
BOUND = "-m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Options and the words behind them. All numbers are whole but `-t`, which is in seconds."""

    flags: frozenset[str]
    numbers: dict[str, float] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)


def parsed(
    words: Sequence[str],
    *,
    usage: str,
    flags: Sequence[str] = (),
    numbers: Sequence[str] = (),
    texts: Sequence[str] = (),
) -> Parsed:
    """Take options off the front; an unknown one is no option but the first word.

    Flags may be written as one word (`-je`); the option at its end may take a value (`-jt 5m`).
    Those of *texts* may be repeated. Every command takes `-m`, the bound of its answer in bytes.
    """
    numbers = (*numbers, BOUND)
    rest, seen = list(words), set[str]()
    given: dict[str, list[str]] = {}
    while rest:
        one = _option(rest[0])
        takes_value = one.name in numbers or one.name in texts
        known = takes_value or (one.name in flags and one.value is None)
        if not known or not one.before <= {*flags}:
            break
        del rest[0]
        seen |= one.before | (set() if takes_value else {one.name})
        if takes_value and one.value is None and not rest:
            raise Refusal(f"usage: {usage}")
        if takes_value:
            value = rest.pop(0) if one.value is None else one.value
            given.setdefault(one.name, []).append(value)
    found = {
        option: _value(written[-1], option, usage)
        for option, written in given.items()
        if option in numbers
    }
    repeated = {option: written for option, written in given.items() if option in texts}
    return Parsed(flags=frozenset(seen), numbers=found, texts=repeated, words=rest)


class _Option(NamedTuple):
    """A word as an option: its short name, its value after `=`, and flags in the same word."""

    name: str
    value: str | None = None
    before: frozenset[str] = frozenset()


def _option(word: str) -> _Option:
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return _Option(LONG.get(name, name), value if equals else None)
    letters = [f"-{letter}" for letter in word[1:]] if word.startswith("-") else []
    return _Option(letters[-1], None, frozenset(letters[:-1])) if letters else _Option(word)


def milliseconds(given: Parsed, default: int) -> int:
    """Return the limit of `-t`, by default that many seconds; more than a week is a week."""
    return round(max(-_WEEK, min(_WEEK, given.numbers.get(_LIMIT, default))) * 1000)


def _value(text: str, option: str, usage: str) -> float:
    try:
        return int(text)
    except ValueError:
        return _duration(text, option, usage)


def _duration(text: str, option: str, usage: str) -> float:
    expected = "a whole number"
    if option == _LIMIT:
        expected = "seconds or a duration such as 500ms, 30s, 5m"
        with contextlib.suppress(BadRequest):
            return seconds(text)
    raise Refusal(f"usage: {usage}\n{option} takes {expected}, not {text!r}")
