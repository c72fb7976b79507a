"""What is known from one line to the next: variables, aliases, functions, files."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeVar

from agent_pty.core.policy.written_files import WrittenFiles

# A variable has one value; an array has several.
Values = tuple[str, ...]
# Variables that every session has. Their values do not matter, only that they are no commands.
_ALWAYS_SET: dict[str, Values] = {
    "IFS": (" \t\n",),
    **dict.fromkeys(("HOME", "PWD", "OLDPWD", "TMPDIR"), ("/dir",)),
    **dict.fromkeys(("USER", "LOGNAME", "HOSTNAME"), ("name",)),
}
_MOST = 2000
_MOST_OTHERS = 4
_Kept = TypeVar("_Kept")


@dataclass(slots=True)
class Missing:
    """What a variable has that nobody was seen to set; *used*: one of them was asked for."""

    value: str = ""
    used: bool = False


@dataclass(slots=True)
class Scope:
    """The state of one shell; *missing* is the same in all the shells that it starts."""

    variables: dict[str, Values] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    # Names that `hash -p` gave to programs.
    hashed: dict[str, str] = field(default_factory=dict)
    # Aliases of git and gh, which are words of their own.
    program_aliases: dict[tuple[str, str], str] = field(default_factory=dict)
    # `git config` made every push a forced one.
    push_is_forced: bool = False
    positional: Values = ()
    # The same for all shells: a subshell writes for the others, too.
    files: WrittenFiles = field(default_factory=WrittenFiles)
    # Other values of variables that something may have changed that may not have run.
    either: dict[str, tuple[Values, ...]] = field(default_factory=dict)
    missing: Missing = field(default_factory=Missing, compare=False)

    def get(self, name: str) -> Values | None:
        """Return the values of a variable; None: nobody was seen to set it."""
        known = self.variables.get(name)
        if known is not None:
            return known
        if name.isdigit():
            number = int(name)
            return self.positional[number - 1 : number] or None if number else ("bash",)
        if name in ("@", "*"):
            return self.positional or None
        return _ALWAYS_SET.get(name)

    def set(self, name: str, values: Values) -> None:
        """Remember a variable; a session that sets too many forgets the others."""
        if len(self.variables) >= _MOST:
            self.variables.clear()
        self.variables[name] = values
        self.either.pop(name, None)

    def append(self, name: str, values: Values) -> None:
        """Carry out `name+=value`."""
        before = self.variables.get(name, ())
        if len(before) == 1 and len(values) == 1:
            self.set(name, (before[0] + values[0],))
        else:
            self.set(name, before + values)

    def mix(self, before: Scope) -> None:
        """Remember that all that has happened since *before* may not have happened."""
        for name, old in before.variables.items():
            new = self.variables.get(name)
            if new != old:
                others = (old, *before.either.get(name, ()), *self.either.get(name, ()))
                self.variables[name] = old if new is None else new
                different = dict.fromkeys(one for one in others if one != self.variables[name])
                self.either[name] = tuple(different)[:_MOST_OTHERS]
        for name, body in before.functions.items():
            new_body = self.functions.get(name)
            if new_body != body:
                self.functions[name] = body if new_body is None else f"{body}\n{new_body}"
        for name, text in before.aliases.items():
            if self.aliases.setdefault(name, text) != text:
                self.functions[name] = f'{{ {text} "$@"\n{self.aliases.pop(name)} "$@"\n}}'

    def alternatives(self, words: Sequence[str]) -> Iterator[None]:
        """Give variables of some words their other values, one after the other."""
        if not self.either:
            return
        text = " ".join(words)
        for name, others in list(self.either.items()):
            if re.search(rf"\$\{{?[!#]?{re.escape(name)}\b", text):
                for values in others:
                    with self.kept([name]):
                        self.variables[name] = values
                        yield

    @contextlib.contextmanager
    def given(self, values: Mapping[str, str]) -> Iterator[None]:
        """Have variables for one command alone."""
        with self.kept(values):
            for name, value in values.items():
                self.variables[name] = (value,)
            yield

    @contextlib.contextmanager
    def kept(self, names: Iterable[str]) -> Iterator[None]:
        """Give variables their values again afterwards."""
        before = [(name, self.variables.get(name), self.either.get(name)) for name in names]
        try:
            yield
        finally:
            for name, values, others in before:
                _put(self.variables, name, values)
                _put(self.either, name, others)

    def write_file(self, path: str, text: str | None, *, appends: bool) -> None:
        """Remember what is written into a file.

        Where unknown variables may be anything, the text with empty ones is better than none.
        """
        if text is not None or not self.missing.value:
            self.files.write(path, text, appends=appends)

    def force_pushes(self) -> None:
        """Remember that a setting makes every push a forced one."""
        self.push_is_forced = True

    def take_arguments(self, positional: Values) -> Values:
        """Replace `$1` and the following; return those before."""
        before, self.positional = self.positional, positional
        return before

    def assume(self, missing: str) -> None:
        """Decide what a variable has that nobody was seen to set."""
        self.missing = Missing(missing)

    def assumed(self) -> Values:
        """Return the values of a variable that nobody was seen to set."""
        self.missing.used = True
        return (self.missing.value,) if self.missing.value else ()

    def forget_aliases(self) -> None:
        """Forget aliases, as another shell does not know them; functions may be exported."""
        self.aliases = {}

    def become(self, other: Scope) -> None:
        """Remember what another scope does, instead of what this one did."""
        for one in fields(self):
            setattr(self, one.name, getattr(other, one.name))

    def copied(self) -> Scope:
        """Return another scope that knows the same; nothing that happens there is known here."""
        made = self.inner(self.positional)
        made.files = self.files.copied()
        return made

    def inner(self, positional: Values = ()) -> Scope:
        """Return the scope of a subshell or another shell, whose changes are its own."""
        return Scope(
            variables=dict(self.variables),
            aliases=dict(self.aliases),
            functions=dict(self.functions),
            hashed=dict(self.hashed),
            program_aliases=dict(self.program_aliases),
            push_is_forced=self.push_is_forced,
            positional=positional,
            files=self.files,
            either=dict(self.either),
            missing=self.missing,
        )


def _put(kept: dict[str, _Kept], name: str, value: _Kept | None) -> None:
    if value is None:
        kept.pop(name, None)
    else:
        kept[name] = value
