"""Follows shell text as a shell would run it, without running anything: which commands it has.

Branches are all taken, because a condition is rarely known. What depends on the running shell is a
hole in an argument, or an `Opaque` where a whole command is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from agent_pty.core.policy.command_parts import command_parts
from agent_pty.core.policy.command_run import CommandRun
from agent_pty.core.policy.field import HOLE
from agent_pty.core.policy.followed import Nothing, Span, Stdin
from agent_pty.core.policy.redirection import (
    REDIRECTS,
    Redirection,
    here_document,
    redirection,
)
from agent_pty.core.policy.shell_tree import Tree, descendants, named, parsed, source_of
from agent_pty.core.policy.shell_word import Words

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_DEPTH = 16
_MOST_COMMANDS = 2000
_MOST_LOOPS = 64
_SEPARATE = frozenset({"program", "compound_statement", "do_group"})
_BRANCHES = frozenset(
    {"if_statement", "elif_clause", "else_clause", "while_statement", "case_statement", "case_item"}
    | {"c_style_for_statement", "negated_command", "ERROR", "heredoc_redirect"}
)
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
# A command without quotes, expansions, assignments and redirections: its words are what they say.
_PLAIN = re.compile(r"[\w./:@%+,^-]+(?:[ \t]+[\w./:=@%+,^-]+)*")
# `[0]=` before an element of an array.
_INDEX = re.compile(r"^\[[^]]*\]=")
# Options of `declare` that make another variable or other letters of a value.
_CHANGING = re.compile(r"\s-\w*[nlu]")
# Variables whose text a shell or a program runs.
_PROMPTS = frozenset({"PS0", "PS1", "PS2", "PS4"})
_RUN_LATER = frozenset(
    {"PROMPT_COMMAND", "PAGER", "MANPAGER", "GIT_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR"}
    | {"GIT_SEQUENCE_EDITOR", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "RSYNC_RSH"}
)


# The path of a file, and whether it is appended to.
_File = tuple[str, bool]
_Handler = Callable[["Follower", "Node", Tree, Stdin], str | None]


class Follower(CommandRun):
    """Follows text in a scope, which it changes as a shell would."""

    def follow(self, text: str, stdin: Stdin = Nothing) -> str | None:
        """Follow text; return what it prints, None if that is not known."""
        if self._depth > _MOST_DEPTH or len(self.found.commands) > _MOST_COMMANDS:
            self.opaque("too deep or too long", self._within or (0, len(text)))
            return None
        tree = self.read(text)
        return self._statement(tree.root, tree, stdin)

    def read(self, text: str) -> Tree:
        """Parse text; what is none for a shell is noted."""
        tree = parsed(text)
        if tree.doubtful:
            self.found.doubt()
        return tree

    def step(self, statement: Node, tree: Tree) -> None:
        """Follow one of the statements of a text."""
        self._sequence([statement], tree, Nothing)

    # -- statements

    def _statement(self, node: Node, tree: Tree, stdin: Stdin) -> str | None:
        kind = node.type
        handle = self._handlers.get(kind)
        if handle is not None:
            return handle(self, node, tree, stdin)
        if kind == "list" or kind in _BRANCHES:
            return self._branches(node, tree, stdin)
        if kind in _SEPARATE:
            return self._sequence(named(node), tree, stdin)
        if kind == "subshell":
            outer, self.scope = self.scope, self.scope.inner(self.scope.positional)
            try:
                return self._sequence(named(node), tree, stdin)
            finally:
                self.scope = outer
        return self._other(node, tree)

    def _branches(self, node: Node, tree: Tree, stdin: Stdin) -> str | None:
        """Follow what may run or not: what only a part of it has changed is not known any more."""
        before = self.scope.inner(self.scope.positional)
        if node.type != "list":
            self._sequence(named(node), tree, stdin)
            self.scope.mix(before)
            return None
        first, *others = named(node)
        printed = [self._statement(first, tree, stdin)]
        before = self.scope.inner(self.scope.positional)
        printed += [self._sequence([one], tree, stdin) for one in others]
        self.scope.mix(before)
        return None if None in printed else "".join(one for one in printed if one is not None)

    def _other(self, node: Node, tree: Tree) -> str | None:
        """Take what is no command by itself; commands inside of it are followed."""
        kind, span = node.type, _span(node)
        if kind == "comment":
            self.found.comments.append((source_of(node, tree.source), self._within or span))
        elif kind == "variable_assignment":
            self._assign(node, tree)
        elif kind in ("variable_assignments", "declaration_command"):
            self._declare(node, tree)
        elif kind in _SUBSTITUTIONS:
            self._substitution(node, tree)
        elif kind == "function_definition":
            self._define(node, tree)
        else:
            for child in descendants(node, _SUBSTITUTIONS):
                self._substitution(child, tree)
        return ""

    def _declare(self, node: Node, tree: Tree) -> None:
        changes = _CHANGING.search(source_of(node, tree.source)) is not None
        for child in descendants(node, _SUBSTITUTIONS | {"variable_assignment"}):
            if child.type != "variable_assignment":
                self._substitution(child, tree)
                continue
            self._assign(child, tree)
            if changes:  # another variable by this name, or in other letters
                self.scope.set(self._assignment(child, tree)[0], (HOLE,))

    def _sequence(self, nodes: list[Node], tree: Tree, stdin: Stdin) -> str | None:
        printed: list[str | None] = []
        for node in nodes:
            if node.type not in ("word", "variable_name", "number", "string", "raw_string"):
                printed.append(self._apart(node, tree, stdin))
            else:
                self._words(node.start_byte).fields(source_of(node, tree.source))
        return None if None in printed else "".join(one for one in printed if one is not None)

    def _apart(self, node: Node, tree: Tree, stdin: Stdin) -> str | None:
        """Follow a statement; one that `&` puts into the background is a shell of its own."""
        after, outer = node.next_sibling, self.scope
        if after is not None and after.type == "&":
            self.scope = outer.inner(outer.positional)
        try:
            return self._statement(node, tree, stdin)
        finally:
            self.scope = outer

    def _pipeline(self, node: Node, tree: Tree, stdin: Stdin) -> str | None:
        flowing: Stdin = stdin
        parts = named(node)
        outer = self.scope
        for child in parts:  # each is a shell of its own
            self.scope = outer.inner(outer.positional) if len(parts) > 1 else outer
            flowing = self._statement(child, tree, flowing)
        self.scope = outer
        return flowing if isinstance(flowing, str) else None

    def _redirected(self, node: Node, tree: Tree, stdin: Stdin) -> str | None:
        body: Node | None = None
        redirects: list[Redirection] = []
        for child in named(node):
            if child.type in REDIRECTS:
                # What follows a here-document on its line stands inside of it.
                inside = [one for one in named(child) if one.type in REDIRECTS]
                redirects += [redirection(one, tree) for one in (child, *inside)]
            else:
                body = child
        stdin, files = self._input(redirects, tree, stdin)
        more = [word for one in redirects for word in one.words]
        if body is not None and body.type == "command" and more:
            printed = self._command(body, tree, stdin, more)
        else:
            printed = None if body is None else self._statement(body, tree, stdin)
            if last := _last_command(body) if more else None:
                self._command(last, tree, None, more)
        for one in redirects:
            for child in named(one.node):
                if child.type in ("pipeline", "command", "list"):
                    printed = self._statement(child, tree, printed)
        return self._printed(printed, files)

    def _printed(self, text: str | None, files: list[_File]) -> str | None:
        """Return what is left of an output that goes into files, if there are any."""
        for path, appends in files:
            self.scope.write_file(path, text, appends=appends)
        return "" if files else text

    def _input(
        self, redirects: list[Redirection], tree: Tree, stdin: Stdin
    ) -> tuple[Stdin, list[_File]]:
        """Return what a statement reads, and the files into which its output goes."""
        files = list[_File]()
        for one in redirects:
            words = self._words(one.node.start_byte)
            if one.node.type == "herestring_redirect":
                text = source_of(one.node, tree.source)
                stdin = words.text(text.partition("<<<")[2].strip()) + "\n"
            elif one.node.type == "heredoc_redirect":
                body, expanded = here_document(one.node, tree)
                stdin = words.heredoc(body) if expanded else body
            else:
                given = words.fields(one.target)
                if one.writes_file:
                    files.append((given[0].text if given else HOLE, one.appends))
                if one.reads_file:
                    stdin = given[0].script if given else None
        return _known(stdin), files

    # -- variables, functions, loops

    def _assign(self, node: Node, tree: Tree) -> None:
        name, values = self._assignment(node, tree)
        if source_of(node, tree.source)[len(name) :].startswith("+="):
            self.scope.append(name, values)
        else:
            self.scope.set(name, values)
        self._run_later(name, " ".join(values), _span(node))

    def _run_later(self, name: str, text: str, span: Span) -> None:
        """Follow the text of a variable that something runs in its time."""
        if HOLE in text:
            return
        if name in _RUN_LATER:
            self.nested(text, span)
        elif name in _PROMPTS:
            Words(self.scope, lambda one: self.nested(one, span)).heredoc(text)

    def _assignment(self, node: Node, tree: Tree) -> tuple[str, tuple[str, ...]]:
        parts = named(node)
        name = source_of(parts[0], tree.source).partition("[")[0]
        words = self._words(node.start_byte)
        for inside in descendants(parts[0], _SUBSTITUTIONS):  # of an index
            self._substitution(inside, tree)
        if len(parts) < 2:  # noqa: PLR2004  name and value
            return name, ("",)
        if parts[1].type == "array":
            written = [source_of(one, tree.source) for one in named(parts[1])]
            elements = [_INDEX.sub("", one) for one in written]
            return name, tuple(one.text for word in elements for one in words.fields(word))
        return name, (words.text(source_of(parts[1], tree.source)),)

    def _define(self, node: Node, tree: Tree) -> None:
        parts = named(node)
        if len(parts) >= 2:  # noqa: PLR2004  name and body
            name = source_of(parts[0], tree.source)
            self.scope.functions[name] = source_of(parts[-1], tree.source)

    def _loop(self, node: Node, tree: Tree, stdin: Stdin) -> str | None:
        """Follow the body for each word, as far as they are few."""
        parts = named(node)
        variable = source_of(parts[0], tree.source)
        body = next((one for one in parts if one.type in ("do_group", "compound_statement")), None)
        words = self._words(node.start_byte)
        values = [
            one.text
            for part in parts[1:]
            if part is not body
            for one in words.fields(source_of(part, tree.source))
        ]
        if any(one.startswith("-") for one in values[_MOST_LOOPS:]):
            self.opaque("a loop over too many words", _span(node))
        few = values[:_MOST_LOOPS] + [HOLE] * (not values or len(values) > _MOST_LOOPS)
        for value in few:
            self.scope.set(variable, (value,))
            if body is not None:
                self._statement(body, tree, stdin)
        return None

    def _substitution(self, node: Node, tree: Tree) -> None:
        text = source_of(node, tree.source)
        inner = text.strip("`") if text.startswith("`") else text[2:-1]
        self.nested(inner, _span(node), scope=self.scope.inner(self.scope.positional))

    # -- commands

    def _command(
        self, node: Node, tree: Tree, stdin: Stdin, more: Sequence[str] = ()
    ) -> str | None:
        """Follow a command; *more* are words of it that stand after a redirection."""
        text = source_of(node, tree.source)
        if not more and _PLAIN.fullmatch(text):  # as most commands are
            return self._words_run(text.split(), _span(node), _known(stdin), plain=True)
        parts = command_parts(node, tree)
        given = [self._assignment(one, tree) for one in parts.assignments]
        assigned = {name: " ".join(values) for name, values in given}
        for name, value in assigned.items():
            self._run_later(name, value, _span(node))
        stdin, files = self._input(parts.redirects, tree, stdin)
        printed = self._words_run([*parts.words, *more], _span(node), stdin, assigned)
        return self._printed(printed, files)

    _handlers: ClassVar[dict[str, _Handler]] = {
        "pipeline": _pipeline,
        "redirected_statement": _redirected,
        "command": _command,
        "for_statement": _loop,
    }


def _last_command(node: Node | None) -> Node | None:
    """Return the command at the end of a statement, to which words after it belong."""
    while node is not None and node.type != "command":
        parts = named(node)
        node = parts[-1] if parts else None
    return node


def _known(stdin: Stdin) -> Stdin:
    """Return None for text of which a part is not known."""
    return None if isinstance(stdin, str) and HOLE in stdin else stdin


def _span(node: Node) -> Span:
    return node.start_byte, node.end_byte
