"""The parts of a simple command: words, redirections, and assignments before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_pty.core.policy.redirection import REDIRECTS, Redirection, redirection
from agent_pty.core.policy.shell_tree import Tree, named, source_of

if TYPE_CHECKING:
    from tree_sitter import Node

_BLANKS = frozenset(b" \t\n")


class CommandParts(NamedTuple):
    """What a command is made of; *words* are as they are written."""

    words: list[str]
    redirects: list[Redirection]
    assignments: list[Node]


def command_parts(node: Node, tree: Tree) -> CommandParts:
    """Take a command apart.

    The grammar makes two words of some that have no blank between them; they are one.
    """
    found = CommandParts([], [], [])
    end: int | None = None  # of the last word, if it was a word
    for child in named(node):
        if child.type in REDIRECTS:
            found.redirects.append(redirection(child, tree))
            found.words.extend(found.redirects[-1].words)
            end = None
        elif child.type == "variable_assignment" and not found.words:
            found.assignments.append(child)
        elif child.type != "comment":
            gap = None if end is None else tree.source[end : child.start_byte]
            if gap is None or _BLANKS & set(gap):
                found.words.append(_word(child, tree))
            else:
                found.words[-1] += gap.decode("utf-8", "replace") + _word(child, tree)
            end = child.end_byte
    return found


def _word(node: Node, tree: Tree) -> str:
    """Return a word; what fish writes as `(date)` is `$(date)` elsewhere."""
    text = source_of(node, tree.source)
    return f"${text}" if node.type == "subshell" else text
