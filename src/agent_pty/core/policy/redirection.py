"""Redirections of a command: where they lead, and words of the command that stand after them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from agent_pty.core.policy.shell_tree import Tree, named, source_of

if TYPE_CHECKING:
    from tree_sitter import Node

REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_FROM_FILE = re.compile(r"\d*<[^&]")
_TO_FILE = re.compile(r"(?:1|&)?>")
_APPENDS = re.compile(r"[\d&]*>>")
_SIGNS = re.compile(r"[\d&]*[<>]+[&|]?")


class Redirection(NamedTuple):
    """A redirection: its *target*, and *words* of the command that the grammar counts to it."""

    node: Node
    target: str
    words: list[str]
    reads_file: bool
    writes_file: bool
    appends: bool = False


def redirection(node: Node, tree: Tree) -> Redirection:
    """Take a redirection apart: in `rm 2>log -rf x` only `log` is its own."""
    text = source_of(node, tree.source)
    if node.type != "file_redirect":
        given = node.children_by_field_name("argument")
        return Redirection(node, "", [source_of(one, tree.source) for one in given], False, False)
    given = node.children_by_field_name("destination")
    words = [source_of(one, tree.source) for one in given]
    target = words[0] if words else _SIGNS.sub("", text, count=1).strip()
    reads, writes = _FROM_FILE.match(text) is not None, _TO_FILE.match(text) is not None
    appends = _APPENDS.match(text) is not None
    return Redirection(node, target, words[1:], reads, writes, appends)


def here_document(node: Node, tree: Tree) -> tuple[str, bool]:
    """Return the body of a here-document, and whether variables count in it."""
    parts = {child.type: source_of(child, tree.source) for child in named(node)}
    body, start = parts.get("heredoc_body", ""), parts.get("heredoc_start", "")
    if source_of(node, tree.source).partition("<<")[2].startswith("-"):
        body = re.sub(r"(?m)^\t+", "", body)
    return body, not set(start) & set("'\"\\")
