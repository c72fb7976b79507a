"""What a few programs print, as far as their arguments alone tell: echo, printf, cat and such."""

from __future__ import annotations

import re

from agent_pty.core.policy.ansi_c import unescaped
from agent_pty.core.policy.field import HOLE, Field, texts

_ECHO_OPTION = re.compile("-[neE]+")
_FORMAT = re.compile(r"%(?:%|[-+ #0-9.*]*([a-zA-Z]))")
_QUIET = frozenset({"true", ":", "false", "cd", "export", "set", "shopt", "unset", "sleep"})
_NAMING = frozenset({"command", "type", "which", "whereis"})
_PRINTING = _NAMING | {"cat", "tee", "printf", "echo"}
_MOST_ROUNDS = 50


def known_output(fields: list[Field], stdin: str | None) -> str | None:
    """Return what a command prints; None: only running it would tell."""
    name = fields[0].text
    if name in _QUIET:
        return ""
    if name not in _PRINTING:
        return None
    arguments = texts(fields[1:])
    if any(HOLE in one for one in arguments):
        return None
    if name in ("cat", "tee"):
        return stdin if name == "tee" or set(arguments) <= {"-", "-u"} else None
    if name == "printf":
        return (
            None if arguments[:1] == ["-v"] else printf([one for one in arguments if one != "--"])
        )
    return _echo(arguments) if name == "echo" else _named_program(name, arguments)


def _named_program(name: str, arguments: list[str]) -> str | None:
    """Return what asks where a program is: its name is all that matters."""
    named = [one for one in arguments if not one.startswith("-")]
    asked = name == "which" or any(one in ("-v", "-p", "-P") for one in arguments)
    return named[0] + "\n" if asked and len(named) == 1 else None


def _echo(arguments: list[str]) -> str:
    escapes, newline = False, True
    while arguments and _ECHO_OPTION.fullmatch(arguments[0]):
        escapes = (escapes or "e" in arguments[0]) and "E" not in arguments[0]
        newline = newline and "n" not in arguments[0]
        arguments = arguments[1:]
    text = " ".join(arguments)
    return (unescaped(text) if escapes else text) + ("\n" if newline else "")


def printf(arguments: list[str]) -> str | None:
    """Return what `printf` prints; None if its format is too clever."""
    if not arguments:
        return None
    form, values = unescaped(arguments[0]), arguments[1:]
    wanted = sum(1 for found in _FORMAT.finditer(form) if found[1])
    rounds = max(1, -(-len(values) // wanted)) if wanted else 1
    if rounds > _MOST_ROUNDS:
        return None
    left = iter(values)

    def value(found: re.Match[str]) -> str:
        if not found[1]:
            return "%"
        given = next(left, "")
        return unescaped(given) if found[1] == "b" else given

    return "".join(_FORMAT.sub(value, form) for _ in range(rounds))
