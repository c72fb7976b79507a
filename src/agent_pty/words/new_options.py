"""The options of `k new`: those of `agent-pty new` for directory, environment and size.

They stand before or directly after the name of the session. The first other word begins the
program, and what follows is the program's, except the options about the end of a cell, which the
original takes anywhere. After `--` every word is the program's, and no shell sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_pty.words.call import Refusal, checked

USAGE = (
    "k new [-j] <session> [--repo DIR] [--env K=V] [--rows N] [--cols N] [--pager] "
    "[cmd... | -- argv...]"
)
_VALUES = frozenset({"--repo", "--env", "--rows", "--cols"})
_FLAGS = {"-j": "-j", "--json": "-j", "--pager": "--pager"}
_FRAMES = ("--prompt=", "--frame=", "--exact=", "--hook=")
_ROWS, _COLS = 40, 120


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOptions:
    """What `k new` was asked for; *argv* is what stood after `--`."""

    name: str
    repo: str = "."
    env: dict[str, str] = field(default_factory=dict)
    rows: int = _ROWS
    cols: int = _COLS
    pager: bool = False
    json: bool = False
    frames: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    argv: list[str] | None = None


def parsed_new(words: Sequence[str]) -> NewOptions:
    """Read the words after `k new`, or refuse them with the usage."""
    flags, values, rest = _options(words)
    if not rest or rest[0] == "--":
        raise Refusal(f"usage: {USAGE}")
    name = checked(rest[0])
    more_flags, more_values, program = _options(rest[1:])
    flags, values = flags | more_flags, values + more_values
    frames = [option for option, _ in values if option.startswith(_FRAMES)]
    argv = program[1:] if program[:1] == ["--"] else None
    if argv == []:
        raise Refusal(f"usage: {USAGE}\n-- must be followed by a program")
    if argv is None:
        frames += [word for word in program if word.startswith(_FRAMES)]
    given = {option: value for option, value in values if option != "--env"}
    return NewOptions(
        name=name,
        repo=given.get("--repo", "."),
        env=dict(_assignment(value) for option, value in values if option == "--env"),
        rows=_number("--rows", given.get("--rows", str(_ROWS))),
        cols=_number("--cols", given.get("--cols", str(_COLS))),
        pager="--pager" in flags,
        json="-j" in flags,
        frames=frames,
        command=[word for word in program if not word.startswith(_FRAMES)] if argv is None else [],
        argv=argv,
    )


def _options(words: Sequence[str]) -> tuple[set[str], list[tuple[str, str]], list[str]]:
    """Take options off the front; return flags, options with their values, and the rest."""
    flags, values, rest = set[str](), list[tuple[str, str]](), list(words)
    while rest:
        option, equals, value = rest[0].partition("=")
        if rest[0].startswith(_FRAMES):
            values.append((rest.pop(0), ""))
        elif rest[0] in _FLAGS:
            flags.add(_FLAGS[rest.pop(0)])
        elif option not in _VALUES:
            break
        elif equals:
            values.append((option, value))
            del rest[0]
        elif len(rest) > 1:
            values.append((option, rest[1]))
            del rest[:2]
        else:
            raise Refusal(f"usage: {USAGE}\n{option} needs a value")
    return flags, values, rest


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise Refusal(f"usage: {USAGE}\n--env takes NAME=VALUE, not {text!r}")
    return name, value


def _number(option: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise Refusal(f"usage: {USAGE}\n{option} takes a whole number, not {text!r}")
    return int(text)
