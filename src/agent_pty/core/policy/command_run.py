"""Follows one command: what its words become, and what it runs in its turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from agent_pty.core.policy import shell_builtin
from agent_pty.core.policy.carried_out import Argv, Opaque, Script
from agent_pty.core.policy.field import Field, texts
from agent_pty.core.policy.followed import Followed, Nothing, Place, Span, Stdin, SubCommand
from agent_pty.core.policy.known_output import known_output
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.shell_word import Words
from agent_pty.core.policy.variable_names import assigned_by, local_names
from agent_pty.core.policy.wrapper import carried_out

_MOST_DEPTH = 16
_MOST_COMMANDS = 2000


class CommandRun(ABC):
    """Follows commands in a scope, which it changes as a shell would."""

    def __init__(self, scope: Scope, place: Place | None = None) -> None:
        """Begin with text itself, or with what a command at a *place* has brought."""
        place = place or Place(Followed())
        self.scope = scope
        self.found = place.found
        self._depth = place.depth
        self._expanding = place.expanding
        self._within = place.within

    @abstractmethod
    def follow(self, text: str, stdin: Stdin = Nothing) -> str | None:
        """Follow text; return what it prints, None if that is not known."""

    def nested(
        self,
        text: str,
        span: Span,
        stdin: Stdin = Nothing,
        *,
        scope: Scope | None = None,
    ) -> str | None:
        """Follow text that a command brought: of a shell, a substitution, a function."""
        return self._deeper(span, scope).follow(text, stdin)

    def opaque(self, reason: str, span: Span) -> None:
        """Note something that runs and that nobody can know before."""
        self.found.opaque.append((reason, self._within or span))

    def _words(self, at: int) -> Words:
        span = (at, at + 1)

        def run(text: str) -> str | None:
            return self.nested(text, span, scope=self.scope.inner(self.scope.positional))

        return Words(self.scope, run)

    def _words_run(
        self,
        sources: list[str],
        span: Span,
        stdin: Stdin,
        assigned: dict[str, str] | None = None,
        *,
        plain: bool = False,
    ) -> str | None:
        if not sources:
            return ""
        first = sources[0]
        alias = self.scope.aliases.get(first)
        if alias is not None and first not in self._expanding:
            before, self._expanding = self._expanding, self._expanding | {first}
            try:
                words = self._after_alias(alias, sources[1:])
                return self.nested(" ".join([alias, *words]), span, stdin)
            finally:
                self._expanding = before
        if plain:
            return self.execute([Field(source) for source in sources], span, stdin, assigned)
        for _ in self.scope.alternatives(sources):
            self.execute(self._fields(sources, span), span, stdin, assigned)
        return self.execute(self._fields(sources, span), span, stdin, assigned)

    def _fields(self, sources: list[str], span: Span) -> list[Field]:
        words = self._words(span[0])
        return [one for source in sources for one in words.fields(source)]

    def _after_alias(self, alias: str, words: list[str]) -> list[str]:
        """Return the words after an alias: if it ends with a blank, the next may be one, too."""
        if not alias.endswith((" ", "\t")) or not words:
            return words
        return [self.scope.aliases.get(words[0], words[0]), *words[1:]]

    def execute(
        self,
        fields: list[Field],
        span: Span,
        stdin: Stdin,
        assigned: dict[str, str] | None = None,
        *,
        guess: bool = False,
    ) -> str | None:
        """Note a command, and follow what it runs in its turn."""
        if not fields:
            return ""
        name = fields[0].text
        body = self.scope.functions.get(name)
        if body is not None and name not in self._expanding:
            with self.scope.given(assigned or {}):
                return self._call(name, body, fields, span, stdin)
        if name in self.scope.hashed:
            fields = [Field(self.scope.hashed[name]), *fields[1:]]
        where = self._within or span
        command = SubCommand(tuple(fields), where, assigned or {}, guess)
        self.found.commands.append(command)
        if len(self.found.commands) > _MOST_COMMANDS or self._depth > _MOST_DEPTH:
            self.opaque("too deep or too long", where)
            return None
        known = stdin if isinstance(stdin, str) else None
        with self.scope.given({**(assigned or {}), **assigned_by(fields)}):
            if not guess and shell_builtin.apply(self, fields, span, known):
                return ""
            self._carried_out(fields, span, stdin, guess=guess)
        if name == "tee":
            self._copy_input(texts(fields[1:]), known)
        return known_output(fields, known)

    def _copy_input(self, words: list[str], text: str | None) -> None:
        """Note what `tee` writes into files."""
        appends = "-a" in words or "--append" in words
        for path in words:
            if not path.startswith("-"):
                self.scope.write_file(path, text, appends=appends)

    def _call(
        self, name: str, body: str, fields: list[Field], span: Span, stdin: Stdin
    ) -> str | None:
        """Follow the body of a function with its arguments."""
        before, self._expanding = self._expanding, self._expanding | {name}
        outer = self.scope.take_arguments(tuple(texts(fields[1:])))
        try:
            with self.scope.kept(local_names(body)):
                return self.nested(body, span, stdin)
        finally:
            self._expanding = before
            self.scope.take_arguments(outer)

    def _carried_out(self, fields: list[Field], span: Span, stdin: Stdin, *, guess: bool) -> None:
        reads = stdin if isinstance(stdin, str) else None
        piped = stdin is not Nothing
        for one in carried_out(fields, self.scope, stdin=reads, piped=piped):
            if isinstance(one, Opaque):
                if not guess:
                    self.opaque(one.reason, span)
            elif isinstance(one, Script):
                self._script(one, span)
            else:
                self._inner(one, span, stdin, guess=guess)

    def _script(self, one: Script, span: Span) -> None:
        """Follow text for another shell: it has our variables, but no aliases."""
        scope = self.scope.inner(one.positional)
        scope.forget_aliases()
        scope.set("0", (one.name,))
        self.nested(one.text, span, one.stdin if one.reads else Nothing, scope=scope)

    def _inner(self, one: Argv, span: Span, stdin: Stdin, *, guess: bool) -> None:
        """Follow another program with its arguments."""
        if self._depth > _MOST_DEPTH:
            self.opaque("too deep or too long", span)
            return
        self._deeper(span).execute(one.fields, span, stdin, guess=guess or one.guess)

    def _deeper(self, span: Span, scope: Scope | None = None) -> Self:
        place = Place(self.found, self._depth + 1, self._expanding, self._within or span)
        return type(self)(self.scope if scope is None else scope, place)
