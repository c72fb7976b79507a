"""Commands of the shell itself that change what later ones mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_pty.core.policy.field import HOLE, Field, texts
from agent_pty.core.policy.known_output import printf
from agent_pty.core.policy.option import Prefix, read_options
from agent_pty.core.policy.shell_scope import Scope

if TYPE_CHECKING:
    from agent_pty.core.policy.command_run import CommandRun

_ASSIGNED = re.compile(r"([A-Za-z_][\w.:-]*)=(.*)", re.DOTALL)
# Options of fish's `abbr`: those that add nothing, and those whose effect the text does not show.
_ABBR_CHANGES = frozenset({"-e", "--erase", "-l", "--list", "-q", "--query", "-s", "--show"})
_ABBR_UNKNOWN = frozenset({"-f", "--function", "-r", "--regex", "-p", "--position", "--rename"})
_Span = tuple[int, int]
_READ = Prefix("dinNptu")
# So many lines of a known text are looked at, if a loop reads them.
_MOST_LINES = 32


def apply(run: CommandRun, fields: list[Field], span: _Span, stdin: str | None) -> bool:
    """Carry out a builtin in a scope; False: it is another command."""
    handle = _BUILTINS.get(fields[0].text)
    if handle is None:
        return False
    handle(run, fields[1:], span, stdin)
    return fields[0].text != "printf"  # which also prints


def _alias(run: CommandRun, given: list[Field], _span: _Span, _stdin: str | None) -> None:
    for one in given:
        if found := _ASSIGNED.fullmatch(one.text):
            run.scope.aliases[found[1]] = found[2]
    words = [one.text for one in given if one.text not in ("-s", "--save", "--")]
    if len(words) == 2 and "=" not in words[0]:  # noqa: PLR2004  fish: name and text
        run.scope.aliases[words[0]] = words[1]


def _abbr(run: CommandRun, given: list[Field], span: _Span, _stdin: str | None) -> None:
    """Take an abbreviation of fish as an alias: what it stands for runs at Enter."""
    all_words = texts(given)
    name = next((at for at, one in enumerate(all_words) if not one.startswith("-")), len(all_words))
    options, words = all_words[:name], all_words[name:]
    if any(one in _ABBR_CHANGES for one in options):
        return
    if any(one.partition("=")[0] in _ABBR_UNKNOWN for one in all_words):
        run.opaque("an abbreviation that is not known before it is used", span)
    elif len(words) > 1:
        run.scope.aliases[words[0]] = " ".join(words[1:])


def _unalias(run: CommandRun, given: list[Field], _span: _Span, _stdin: str | None) -> None:
    for one in given:
        run.scope.aliases.pop(one.text, None)
        if one.text == "-a":
            run.scope.aliases.clear()


def _hash(run: CommandRun, given: list[Field], _span: _Span, _stdin: str | None) -> None:
    words = texts(given)
    if "-p" in words[:-2]:
        at = words.index("-p")
        for name in words[at + 2 :]:
            run.scope.hashed[name] = words[at + 1]


def _eval(run: CommandRun, given: list[Field], span: _Span, _stdin: str | None) -> None:
    text = " ".join(one.text for one in given if one.text != "--")
    if HOLE in text:
        run.opaque("eval of text that is not known", span)
    if text.strip(HOLE + " "):
        run.nested(text, span)


def _trap(run: CommandRun, given: list[Field], span: _Span, _stdin: str | None) -> None:
    words = [one.text for one in given if one.text not in ("--", "-p", "-l")]
    if len(words) < 2 or words[0] in ("-", ""):  # noqa: PLR2004  what, and when
        return
    if HOLE in words[0]:
        run.opaque("a trap whose command is not known", span)
    else:
        run.nested(words[0], span)


def _source(run: CommandRun, given: list[Field], span: _Span, stdin: str | None) -> None:
    if not given:
        return
    if given[0].text.startswith("/dev/"):
        script = given[0].script if given[0].script is not None else stdin
        if script is None:
            run.opaque("a shell reads commands that are not known", span)
        else:
            run.nested(script, span)
    elif written := run.scope.files.text_of(given[0].text):
        run.nested(written, span)


def _set(run: CommandRun, given: list[Field], _span: _Span, _stdin: str | None) -> None:
    words = texts(given)
    if "--" in words:
        run.scope.take_arguments(tuple(words[words.index("--") + 1 :]))
    elif words and not words[0].startswith(("-", "+")):
        run.scope.take_arguments(tuple(words))


def _shift(run: CommandRun, given: list[Field], _span: _Span, _stdin: str | None) -> None:
    count = int(given[0].text) if given and given[0].text.isdigit() else 1
    run.scope.take_arguments(run.scope.positional[count:])


def _unset(run: CommandRun, given: list[Field], _span: _Span, _stdin: str | None) -> None:
    for one in given:
        run.scope.variables.pop(one.text, None)
        run.scope.functions.pop(one.text, None)


def _read(run: CommandRun, given: list[Field], _span: _Span, stdin: str | None) -> None:
    options, rest = read_options(given, _READ)
    names = texts(rest)
    if stdin is None:
        for name in names or ["REPLY"]:
            run.scope.set(name, (HOLE,))
        return
    line, _, more = stdin.partition("\n")
    if any(one.name == "-d" for one in options):
        line, more = stdin, ""
    if more.strip():
        _read_in_turn(run.scope, names or ["REPLY"], [line, *more.splitlines()])
        return
    if any(re.fullmatch(r"-\w*a\w*", one.text) for one in given) and names:
        run.scope.set(names[0], tuple(line.split()))
        return
    parts = line.split(None, max(0, len(names) - 1)) if names else [line]
    for name, value in zip(names or ["REPLY"], [*parts, *[""] * len(names)], strict=False):
        run.scope.set(name, (value,))


def _read_in_turn(scope: Scope, names: list[str], lines: list[str]) -> None:
    """Give variables what a loop reads: any of the lines; parts of lines are not told apart."""
    known = len(names) == 1 and len(lines) <= _MOST_LINES
    for name in names:
        scope.set(name, (lines[0] if known else HOLE,))
        if known:
            scope.either[name] = tuple((one,) for one in dict.fromkeys(lines[1:]))


def _mapfile(run: CommandRun, given: list[Field], _span: _Span, stdin: str | None) -> None:
    names = [one.text for one in given if not one.text.startswith("-")]
    values = (HOLE,) if stdin is None else tuple(stdin.splitlines())
    run.scope.set(names[-1] if names else "MAPFILE", values)


def _declare(run: CommandRun, given: list[Field], _span: _Span, _stdin: str | None) -> None:
    for one in given:
        if found := _ASSIGNED.fullmatch(one.text):
            run.scope.set(found[1], (found[2],))


def _printf(run: CommandRun, given: list[Field], _span: _Span, _stdin: str | None) -> None:
    """Remember what `printf -v` writes into a variable."""
    words = texts(given)
    if words[:1] == ["-v"] and len(words) > 2:  # noqa: PLR2004  -v, name, format
        printed = None if HOLE in "".join(words[2:]) else printf(words[2:])
        run.scope.set(words[1], (HOLE if printed is None else printed,))


_Handle = Callable[["CommandRun", list[Field], _Span, str | None], None]
_BUILTINS: dict[str, _Handle] = {
    "abbr": _abbr,
    "alias": _alias,
    "unalias": _unalias,
    "hash": _hash,
    "eval": _eval,
    "trap": _trap,
    "source": _source,
    ".": _source,
    "set": _set,
    "shift": _shift,
    "unset": _unset,
    "read": _read,
    "mapfile": _mapfile,
    "printf": _printf,
    "readarray": _mapfile,
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), _declare),
}
