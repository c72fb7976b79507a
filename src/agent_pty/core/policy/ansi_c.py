"""Text in `$'...'`, and what `echo -e` and `printf` make of backslashes."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(0?[0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_NAMED = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))


def unescaped(text: str) -> str:
    r"""Replace escapes by what they stand for.

    >>> unescaped(r"\x72\155 -rf")
    'rm -rf'
    """
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    two, four, eight, octal, control, other = found.groups()
    if (digits := two or four or eight) is not None:
        number = int(digits, 16)
        return chr(number) if number <= 0x10FFFF else ""  # noqa: PLR2004
    if octal is not None:
        return chr(int(octal, 8) & 0xFF)
    if control is not None:
        return chr(ord(control) & 0x1F)
    return _NAMED.get(other, other if other in "\\'\"?" else f"\\{other}")
