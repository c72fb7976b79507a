"""What `${...}` gives: defaults, parts and replacements of a variable's value."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

from agent_pty.core.policy.field import HOLE
from agent_pty.core.policy.shell_scope import Scope, Values

_PARAMETER = re.compile(
    r"(?P<how>[!#]?)(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])"
    r"(?:\[(?P<index>[^\]]*)\])?(?P<rest>.*)",
    re.DOTALL,
)
_DEFAULT = re.compile(r":?([-=+?])")
_SLICE = re.compile(r":\s*(-?\d+)\s*(?::\s*(-?\d+)\s*)?")
# Expands a word that stands inside the braces.
Expand = Callable[[str], str]


def parameter(content: str, scope: Scope, expand: Expand) -> Values:
    """Return the values of `${content}`; a hole where they cannot be known."""
    if content.isidentifier():  # as most are
        known = scope.get(content)
        return scope.assumed() if known is None else known
    found = _PARAMETER.fullmatch(content)
    if found is None:
        return (HOLE,)
    name, rest = found["name"], found["rest"]
    if found["how"] == "!":
        target = scope.get(name)
        if target is None or len(target) != 1 or HOLE in target[0]:
            return (HOLE,)
        name = target[0]
    elif found["how"] == "#" and name not in "#?$!-":
        return (HOLE,)
    values = _indexed(scope.get(name), found["index"])
    if values is not None and "@" in (name, found["index"]) and (cut := _SLICE.fullmatch(rest)):
        return _elements(values, cut, first=name == "@")
    return _changed(values, rest, name, scope, expand)


def _elements(values: Values, cut: re.Match[str], *, first: bool) -> Values:
    """Return some of several values: of an array from 0 on, of the arguments from 1 on."""
    start = int(cut[1]) - (first and int(cut[1]) > 0)
    end = None if cut[2] is None else start + int(cut[2]) if int(cut[2]) >= 0 else int(cut[2])
    return values[start:end]


def _indexed(values: Values | None, index: str | None) -> Values | None:
    if values is None or index is None or index in ("@", "*"):
        return values
    if index.lstrip("-").isdigit() and -len(values) <= int(index) < len(values):
        return (values[int(index)],)
    return (HOLE,)


def _changed(values: Values | None, rest: str, name: str, scope: Scope, expand: Expand) -> Values:
    """Apply what follows the name."""
    default = _DEFAULT.match(rest)
    if default is not None and not _SLICE.fullmatch(rest):
        word = expand(rest[default.end() :])
        is_set = values is not None and (rest[0] != ":" or any(values))
        if default[1] == "+":
            return (word,) if is_set else ()
        if default[1] == "=" and not is_set:
            scope.set(name, (word,))
        return values if is_set and values is not None else (word,)
    if values is None:
        return scope.assumed()
    if not rest:
        return values
    return tuple(HOLE if HOLE in one else _part(one, rest, expand) for one in values)


def _part(value: str, rest: str, expand: Expand) -> str:
    """Return a part of a value, or the value with something replaced."""
    if cut := _SLICE.fullmatch(rest):
        start, length = int(cut[1]), cut[2]
        end = None if length is None else (start + int(length) if int(length) >= 0 else int(length))
        return value[start:end]
    if rest[0] in "#%":
        longest = rest[:2] in ("##", "%%")
        return _stripped(value, expand(rest[1 + longest :]), at_end=rest[0] == "%", longest=longest)
    if rest[0] == "/":
        return _replaced(value, rest, expand)
    if rest[0] in "^,":
        change = str.upper if rest[0] == "^" else str.lower
        return change(value) if rest[:2] in ("^^", ",,") else change(value[:1]) + value[1:]
    if rest in ("@Q", "@E", "@U", "@L"):
        return {"@U": value.upper(), "@L": value.lower()}.get(rest, value)
    return HOLE


def _stripped(value: str, pattern: str, *, at_end: bool, longest: bool) -> str:
    lengths = range(len(value), -1, -1) if longest else range(len(value) + 1)
    for length in lengths:
        part = value[len(value) - length :] if at_end else value[:length]
        if fnmatch.fnmatchcase(part, pattern):
            return value[: len(value) - length] if at_end else value[length:]
    return value


def _replaced(value: str, rest: str, expand: Expand) -> str:
    everywhere = rest.startswith("//")
    pattern, _, new = rest[1 + everywhere :].partition("/")
    anchor = pattern[:1] if pattern[:1] in ("#", "%") and not everywhere else ""
    regex = fnmatch.translate(expand(pattern.removeprefix(anchor)))
    regex = regex.removesuffix(r"\Z").removesuffix(r"\z")
    regex = f"^{regex}" if anchor == "#" else f"{regex}$" if anchor == "%" else regex
    try:
        return re.sub(regex, lambda _found: expand(new), value, count=0 if everywhere else 1)
    except re.error:
        return HOLE
