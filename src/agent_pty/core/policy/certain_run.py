"""Whether a command of a line certainly ran, and whether the line's exit code is its own. Pure.

What stands after a condition, in a substitution or in text for another shell may not have run, and
its exit code may be lost. In doubt the answer is no.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from agent_pty.core.policy.field import HOLE, Field
from agent_pty.core.policy.passed_exit_code import ANY_FAILURE, NO_WRAPPER, inner_program
from agent_pty.core.policy.shell_line import LONGEST, begins, followed_line
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.shell_tree import Tree, named, parsed, source_of
from agent_pty.core.policy.shell_word import Words

if TYPE_CHECKING:
    from tree_sitter import Node

# How the shell went on: with its next prompt, after Ctrl-C, or not at all.
Ending = Literal["done", "interrupted", "exited"]
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_ASIDE = _REDIRECTS | {"variable_assignment", "comment"}
# Their first command runs whatever comes of it.
_BEGIN = frozenset(
    {"negated_command", "if_statement", "while_statement", "subshell", "compound_statement"}
)
# What follows a here-document on its line stands inside of it: `cat <<E && pytest`.
_HEREDOC = frozenset({"<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end"})
# A shell gives up the rest of its line if a signal ended a command.
_SIGNAL = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class CertainRun:
    """What is certain of a command.

    *ran*: the shell came to it. *code_is_its_own*: if it ran, the line ended as it did;
    *code_is_a_wrappers*: but `timeout` or the like may have ended so itself.
    """

    ran: bool = False
    code_is_its_own: bool = False
    code_is_a_wrappers: bool = False


class _Match(NamedTuple):
    """A command that is the one asked for: *own* is the least exit code of its wrappers."""

    own: int
    replaces_shell: bool


def certain_run(
    text: str, words: tuple[str, ...], *, code: int | None, ending: Ending = "done"
) -> CertainRun:
    """Judge the commands of a line that begin with *words*, by how the line ended.

    >>> certain_run("make && pytest", ("pytest",), code=0).code_is_its_own
    True
    >>> certain_run("false && pytest", ("pytest",), code=1).ran
    False
    """
    found = followed_line(text)
    tree = parsed(text[:LONGEST])
    if found is None or tree.doubtful or len(text) > LONGEST:
        return CertainRun()
    commands, scope = found
    redefined = scope.functions.keys() | scope.aliases.keys() | scope.hashed.keys()
    everywhere = sum(begins(one.argv, words) for one in commands.commands)
    line = _Line(tree, words, redefined, code=code, ending=ending)
    return line.judged(everywhere)


class _Line:
    def __init__(
        self,
        tree: Tree,
        words: tuple[str, ...],
        redefined: set[str],
        *,
        code: int | None,
        ending: Ending,
    ) -> None:
        self._source = tree.source
        self._words = words
        self._redefined = redefined
        self._code = code
        self._ending = ending
        self._statements = [one for one in named(tree.root) if one.type != "comment"]

    def judged(self, everywhere: int) -> CertainRun:
        """Return what is certain; *everywhere*: how often the command is found in any place."""
        matches = self._matches_with_the_code()
        # One that is hidden elsewhere in the line may have ended in another way.
        own = bool(matches) and len(matches) == everywhere
        code = self._code or 0
        return CertainRun(
            ran=self._ran(),
            code_is_its_own=own,
            code_is_a_wrappers=own and any(code >= one.own for one in matches),
        )

    # -- whose the exit code is

    def _matches_with_the_code(self) -> list[_Match]:
        """Return the commands that ended as the line did."""
        if len(self._statements) != 1 or _is_in_background(self._statements[0]):
            return []
        only = self._statements[0]
        alone = _simple(only)
        if alone is not None:
            found = self._matches([alone])
            return [one for one in found if self._ending != "exited" or one.replaces_shell]
        return self._matches(_chain(only)) if self._succeeded else []

    @property
    def _succeeded(self) -> bool:
        """Whether a chain of `&&` succeeded; a shell that ended may have skipped a part."""
        return self._code == 0 and self._ending == "done"

    # -- whether it ran

    def _ran(self) -> bool:
        went_on = self._ending == "done" and self._code is not None and self._code < _SIGNAL
        reached = self._statements if went_on else self._statements[:1]
        begun = [
            command for one in reached if not _is_in_background(one) for command in _first(one)
        ]
        if any(map(self._has_started, self._matches(begun))):
            return True
        last = self._statements[-1:] if self._succeeded else []
        return any(self._matches(_chain(one)) for one in last if not _is_in_background(one))

    def _has_started(self, match: _Match) -> bool:
        if match.own == ANY_FAILURE:  # of `sudo a; b` nobody knows whether the password was right
            return False
        return self._code is None or self._code < match.own

    # -- commands

    def _matches(self, commands: list[Node]) -> list[_Match]:
        found = (self._match(self._fields(one)) for one in commands)
        return [one for one in found if one is not None]

    def _fields(self, command: Node) -> list[Field]:
        scope = Scope()
        scope.assume(HOLE)
        words = Words(scope, lambda _text: None)
        sources = [source_of(one, self._source) for one in named(command) if one.type not in _ASIDE]
        return [field for source in sources for field in words.fields(source)]

    def _match(self, fields: list[Field]) -> _Match | None:
        """Look for the command itself, and after programs that end as it does."""
        own = NO_WRAPPER
        replaces_shell = bool(fields) and fields[0].text == "exec"
        while fields and fields[0].text not in self._redefined:
            if begins([one.text for one in fields], self._words):
                return _Match(own, replaces_shell)
            inner = inner_program(fields)
            if inner is None:
                return None
            fields, own = inner.fields, min(own, inner.own)
        return None


def _is_in_background(statement: Node) -> bool:
    after = statement.next_sibling
    return after is not None and after.type == "&"


def _simple(node: Node) -> Node | None:
    """Return the command that a statement consists of, but for its redirections."""
    if node.type == "command":
        return node
    body = _redirected(node)
    return body if body is not None and body.type == "command" else None


def _redirected(node: Node) -> Node | None:
    """Return what is redirected; None: nothing is, or something follows a here-document."""
    if node.type != "redirected_statement":
        return None
    for one in node.children:
        if one.type == "heredoc_redirect" and {part.type for part in one.children} - _HEREDOC:
            return None
    return next((one for one in named(node) if one.type not in _REDIRECTS), None)


def _chain(node: Node) -> list[Node]:
    """Return the commands that have all succeeded if the whole has: those joined by `&&`."""
    body = _redirected(node)
    node = body if body is not None and body.type == "list" else node
    operators = {one.type for one in node.children if not one.is_named}
    if node.type == "list" and operators == {"&&"}:
        return [command for one in named(node) for command in _chain(one)]
    simple = _simple(node)
    return [] if simple is None else [simple]


def _first(node: Node) -> list[Node]:
    """Return the commands that run whatever comes of others: the first, or a pipeline's."""
    simple = _simple(node)
    if simple is not None:
        return [simple]
    if node.type == "pipeline":
        return [one for one in map(_simple, named(node)) if one is not None]
    if node.type not in {*_BEGIN, "list", "redirected_statement"}:
        return []
    inner = next((one for one in named(node) if one.type != "comment"), None)
    return [] if inner is None else _first(inner)
