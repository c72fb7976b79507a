"""A command for the eyes of somebody who must decide about it: nothing in it can hide. Pure."""

from __future__ import annotations

import unicodedata

# Of a long command both ends are shown: padding must not push the end out of sight.
_MOST_SHOWN = 2000
_TAIL = 500
# Control, format, private use, surrogates, unassigned, separators of lines and paragraphs.
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_MOST_BLANKS = 20


def shown_command(text: str) -> list[str]:
    r"""Return lines that show a command: escaped, both ends of it, with a warning if need be.

    >>> shown_command("ls\x1b[2J")
    ['ls\\x1b[2J', '! 1 character was escaped: it would not show, or would show as another']
    """
    shown = "".join(_shown(one) for one in text)
    escaped = sum(_shown(one) != one for one in text if one != "\n")
    lines = []
    if len(shown) > _MOST_SHOWN:
        left_out = len(shown) - _MOST_SHOWN
        shown = f"{shown[: _MOST_SHOWN - _TAIL]} [... {left_out} characters ...] {shown[-_TAIL:]}"
        lines.append(f"! {len(text)} characters: the beginning and the end are shown")
    if escaped:
        what = "1 character was" if escaped == 1 else f"{escaped} characters were"
        lines.append(f"! {what} escaped: it would not show, or would show as another")
    if " " * _MOST_BLANKS in text or "\t" * _MOST_BLANKS in text:
        lines.append("! many blanks in a row: look at what comes after them")
    return [shown, *lines]


def _shown(character: str) -> str:
    blank = character.isspace() and character != " "
    if blank or unicodedata.category(character) in _HIDDEN:
        return character.encode("unicode_escape", "surrogatepass").decode()
    return character
