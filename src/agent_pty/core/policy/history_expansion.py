"""Whether a shell would take a part of a line from its history (`!!`, `!rm`, `^a^b`). Pure."""

from __future__ import annotations

import re

# What is quoted singly or escaped stays as it is; so do the marks that are no history for bash:
# `$!`, `${!name}`, `[!a-z]`, `!(pattern)`, and one before a blank, `=` or the end.
_TOKEN = re.compile(r"\\.|'[^']*'|\$\{!|[$\[]!|!(?=[\s=(\"]|$)|(?P<event>!)", re.DOTALL)
_REPLACEMENT = re.compile(r"\s*\^[^\^]+\^")


_SWITCH = re.compile(r"\bset\s+(?:-\w*H|-o\s+histexpand)|\bsetopt\s+.*bang_?hist", re.IGNORECASE)


def switches_expansion_on(line: str) -> bool:
    """Whether a line makes a shell expand history from then on."""
    return _SWITCH.search(line) is not None


def expands_history(line: str) -> bool:
    """Whether only the shell knows what the line will be.

    >>> [expands_history(one) for one in ("!!", "sudo !rm", "^a^b", "echo 'hi!x'", "echo hi!")]
    [True, True, True, False, False]
    """
    if _REPLACEMENT.match(line):
        return True
    return any(found["event"] for found in _TOKEN.finditer(line))
