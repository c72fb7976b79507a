"""Options that may stand before the first word and after the last one.

The rule: a word in between is never an option, whatever it looks like. So the text of
`k send work -j` is `-j`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_pty.core.duration import seconds
from agent_pty.errors import BadRequest
from agent_pty.words.call import Refusal
from agent_pty.words.option import BOUND, LONG

_WEEK = 7 * 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Options, and the words without them."""

    flags: frozenset[str]
    values: dict[str, list[str]]
    words: list[str]
    usage: str

    def milliseconds(self, default: int) -> int:
        """Return the duration of `-t`, by default *default* seconds; more than a week is a week."""
        given = (self.values.get("-t") or [str(default)])[-1]
        try:
            return round(min(_WEEK, seconds(given, what="-t")) * 1000)
        except BadRequest as error:
            raise Refusal(f"usage: {self.usage}\n{error}") from None


def placed(
    given: Sequence[str],
    *,
    usage: str,
    most: int,
    flags: Sequence[str] = ("-j",),
    values: Sequence[str] = (),
) -> Placed:
    """Separate options from at most *most* words; `--name value` may be `--name=value`.

    Every command takes `-m`, the bound of its answer in bytes.
    """
    values = (*values, BOUND)
    rest, words = list(given), list[str]()
    seen, found = set[str](), dict[str, list[str]]()
    while rest:
        word = rest.pop(0)
        if LONG.get(word) in (*flags, *values) and not 0 < len(words) < most:
            word = LONG[word]
        name, equals, value = word.partition("=")
        if 0 < len(words) < most:
            words.append(word)
        elif together := _flags_in(word, flags):
            seen.update(together)
        elif name in values and (name.startswith("--") or not equals):
            if not equals and not rest:
                raise Refusal(f"usage: {usage}\n{name} needs a value")
            found.setdefault(name, []).append(value if equals else rest.pop(0))
        elif len(words) == most:
            raise Refusal(f"usage: {usage}")
        else:
            words.append(word)
    return Placed(flags=frozenset(seen), values=found, words=words, usage=usage)


def _flags_in(word: str, flags: Sequence[str]) -> list[str]:
    """Return the flags of a word; `-je` is `-j` and `-e`."""
    if word in flags:
        return [word]
    letters = [f"-{letter}" for letter in word[1:]]
    together = len(letters) > 1 and word.startswith("-") and all(one in flags for one in letters)
    return letters if together else []
