"""`k`'s own way with options: they come before the first word, which ends them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_pty.words.call import Refusal

_WEEK = 7 * 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Options and the words behind them."""

    flags: frozenset[str]
    numbers: dict[str, int] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)


def parsed(
    words: Sequence[str], *, usage: str, flags: Sequence[str] = (), numbers: Sequence[str] = ()
) -> Parsed:
    """Take options off the front; an unknown one is no option but the first word."""
    rest, seen, values = list(words), set(), {}
    while rest and rest[0] in (*flags, *numbers):
        option = rest.pop(0)
        if option in flags:
            seen.add(option)
        elif rest:
            values[option] = _number(rest.pop(0), option, usage)
        else:
            raise Refusal(f"usage: {usage}")
    return Parsed(flags=frozenset(seen), numbers=values, words=rest)


def milliseconds(given: Parsed, default: int) -> int:
    """Return the limit of `-t`; more than a week is a week."""
    return max(-_WEEK, min(_WEEK, given.numbers.get("-t", default))) * 1000


def _number(text: str, option: str, usage: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Refusal(f"usage: {usage}\n{option} takes a whole number, not {text!r}") from None
