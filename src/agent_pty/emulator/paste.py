"""Pasted text as bytes for the program. Pure: whether it is bracketed is an argument."""

from __future__ import annotations

from typing import Final

_BEGIN: Final = b"\x1b[200~"
_END: Final = b"\x1b[201~"
_ESCAPE: Final = b"\x1b"


def encode_paste(text: bytes, *, bracketed: bool) -> bytes:
    """Return *text* so that it cannot leave the paste: what follows would be typed, not pasted."""
    clean = without_end(text)
    if bracketed:
        return _BEGIN + clean + _END
    return clean.replace(b"\r\n", b"\r").replace(b"\n", b"\r")


def without_end(text: bytes) -> bytes:
    """Remove every terminator, also one that only forms when another is removed."""
    clean = text.replace(_END, b"")
    if _END not in clean:
        return clean
    # Nested terminators are an attack, not text: without escapes none can form.
    return clean.replace(_ESCAPE, b"")
