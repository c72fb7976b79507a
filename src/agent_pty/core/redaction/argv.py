"""Take secrets out of the words of a program's command line.

A word may be a secret only because of the words before it: `--password swordfish`.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_pty.core.redaction.redactor import redacted

_WORDS_BEFORE = 8
# Neither options nor secrets are longer; so the time does not grow with the length of scripts.
_LONGEST = 1000
_MARKER = "[REDACTED]"


def redacted_argv(argv: Sequence[str], known: Sequence[str] = ()) -> list[str]:
    """Return the words without their secrets; *known* are values that are secret anywhere.

    >>> redacted_argv(["mysql", "-u", "root", "--password", "swordfish"])
    ['mysql', '-u', 'root', '--password', '[REDACTED:flag]']
    """
    return [_word(argv, place, known) for place in range(len(argv))]


def _word(argv: Sequence[str], place: int, known: Sequence[str]) -> str:
    word = redacted(argv[place], known)
    before = [*argv[: min(place, 1)], *argv[max(1, place - _WORDS_BEFORE) : place]]
    before = [one for one in before if len(one) <= _LONGEST]
    if word != argv[place] or not before or len(word) > _LONGEST:
        return word
    line = redacted(" ".join([*before, word]), known)
    if line.endswith(f" {word}"):
        return word
    head = redacted(" ".join(before) + " ", known)
    return line.removeprefix(head) if line.startswith(head) else _MARKER
