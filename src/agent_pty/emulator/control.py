"""Control characters, which must not reach a reader's own terminal inside a title or a line."""

from __future__ import annotations

from typing import Final

_CONTROLS: Final = dict.fromkeys([*range(0x20), 0x7F, *range(0x80, 0xA0)])


def without_controls(text: str) -> str:
    """Remove C0, C1 and DEL: xterm acts on U+009B as on an escape sequence."""
    return text.translate(_CONTROLS)


def without_delete(text: str) -> str:
    """Show a DEL as a blank: the library gives it a cell, where a terminal ignores it."""
    return text.replace("\x7f", " ")
