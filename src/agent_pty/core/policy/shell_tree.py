"""The structure of shell text, by tree-sitter: which statements there are, and what is in them."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from agent_pty.core.policy.continued_line import joined
from agent_pty.core.policy.shell_word import braces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser

# Trees of longer texts take too much memory to be kept.
_LONG = 4096
_HEREDOC_AND_MORE = re.compile(r"(?<!<)<<-?\s*(['\"\\]?)([\w.-]+)\1(\s*;([^;\n][^\n]*))(?=\n)")
# A word with braces where a command begins; `{ ` with a blank begins a group.
_BRACED = re.compile(
    r"(^|[;&|(\n]\s*|\b(?:then|do|else)\s+)\s*"
    r"((?!\{\s)[^\s;&|()'\"$`<>]*\{[^\s{}]*(?:,|\.\.)[^\s{}]*\}[^\s;&|()'\"$`<>]*)"
)


_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_HEREDOC_START = re.compile(r"(?<!<)<<-?\s*(['\"\\]?)([\w.-]+)")
# What ends a thing that was begun.
_ENDS = (
    *("'", '"', "`", ")", "\n}", "\nfi", "\ndone", "\nesac", "\n:\nfi", "\n:\ndone", "\n:\n}"),
    *("\n:\n)", "\ndo :\ndone", "\nthen :\nfi", "\n:;;\nesac", '")', "')", '")"', ')"', '\n)"'),
)


class Tree(NamedTuple):
    """The root of some text, and the text as bytes; *doubtful*: a part of it is no shell text."""

    root: Node
    source: bytes
    doubtful: bool


@cache
def _parser() -> Parser:
    import tree_sitter  # noqa: PLC0415  it is large, and most processes never judge a line
    import tree_sitter_bash  # noqa: PLC0415

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def prepare() -> None:
    """Load the parser now: later there may be no free descriptor for its files."""
    _parser()


def parsed(text: str) -> Tree:
    """Parse text; it need not be valid."""
    return _parsed(text) if len(text) > _LONG else _remembered(text)


@lru_cache(16)
def _remembered(text: str) -> Tree:
    """Parse text of which the same is judged again: with other variables, in another command."""
    return _parsed(text)


def _parsed(text: str) -> Tree:
    # The grammar takes `r\<newline>m` for two words, which a shell does not.
    source = _with_expanded_command(_ordered(joined(text))).encode("utf-8", "replace")
    root = _parser().parse(source).root_node
    return Tree(root, source, root.has_error)


def _with_expanded_command(text: str) -> str:
    """Expand braces that stand for a whole command, `{rm,-rf,x}`: the grammar knows none there."""
    if "{" not in text:
        return text
    return _BRACED.sub(lambda found: found[1] + " ".join(braces(found[2])), text)


def _ordered(text: str) -> str:
    """Put `; more`, which stands after the start of a here-document, behind that document."""
    found = _HEREDOC_AND_MORE.search(text) if "<<" in text else None
    if found is None:
        return text
    ends = re.compile(rf"(?m)^\t*{re.escape(found[2])}$").search(text, found.end())
    if ends is None:
        return text
    begin, more = text[: found.start(3)], found[4]
    return f"{begin}{text[found.end() : ends.end()]}\n{more}{_ordered(text[ends.end() :])}"


def missing_end(text: str, likely: str = "") -> str | None:
    """Return what would end text for which a shell waits for more; None: it does not wait.

    An open quote, a loop, a here-document: what was begun means nothing until it ends. What ended
    the text before its last line is *likely*.
    """
    if _CONTINUED.search(text):
        return "\n"
    for found in _HEREDOC_START.finditer(text):
        word = found[2]
        rest = text[found.end() :].split("\n")[1:]
        ends = f"\n{word}"
        if word not in (line.lstrip("\t") for line in rest) and _ends_heredoc(text + ends):
            closing = _closing(f"{text}{ends}\n")
            return ends if closing is None else f"{ends}\n{closing}"
    return _closing(text, likely)


def is_whole(text: str) -> bool:
    """Whether text can be read as a whole, and a shell waits for nothing more."""
    return not parsed(text).doubtful and missing_end(text) is None


def _closing(text: str, likely: str = "") -> str | None:
    """Return what would close the quotes and blocks of a text; None: all are, or nobody knows."""
    if not parsed(text).doubtful:
        return None
    ends = (likely, *_ENDS) if likely else _ENDS
    return next((end for end in ends if not parsed(text + end).doubtful), None)


def _ends_heredoc(text: str) -> bool:
    """Whether the last word of a text ends a here-document."""
    tree = parsed(text)
    ends = descendants(tree.root, frozenset({"heredoc_end"}))
    return any(one.end_byte == len(tree.source) and one.start_byte < one.end_byte for one in ends)


def source_of(node: Node, source: bytes) -> str:
    """Return the text of a node."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def named(node: Node) -> list[Node]:
    """Return the children that mean something."""
    return node.named_children


def descendants(node: Node, kinds: frozenset[str]) -> Iterator[Node]:
    """Yield the outermost nodes of some kinds inside of a node."""
    for child in node.children:
        if child.type in kinds:
            yield child
        else:
            yield from descendants(child, kinds)
