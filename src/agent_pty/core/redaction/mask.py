"""Cover text without moving what stands around it: as many cells, and as many bytes, as before.

A recording is drawn again later, so what is masked must take the room it had. As it has the same
number of bytes, too, the time of every byte around it stays known.
"""

from __future__ import annotations

import re

from agent_pty.core.width import width

# Control characters move the cursor; a mask leaves them where they are.
_RUNS = re.compile(rb"[^\x00-\x1f\x7f]+")
_SHORT_MARKER = b"[REDACTED]"
# A cover for each number of bytes in UTF-8, of one cell and of two.
_NARROW = {1: "*", 2: "\u00d7", 3: "\u2022", 4: "\U0001d7ce"}
_WIDE = {3: "\uff0a", 4: "\U0001f512"}
_JOINING = {2: "\u0300", 3: "\u20d0", 4: "\U0001d167"}


def masked(data: bytes, marker: bytes = b"") -> bytes:
    """Return a cover for *data*; it says *marker* if there is room for it.

    >>> masked(b"hunter2-hunter2-hunter2", b"[REDACTED:token]")
    b'[REDACTED:token]*******'
    >>> masked(b"abc", b"[REDACTED:token]")
    b'***'
    """
    first = marker

    def cover(found: re.Match[bytes]) -> bytes:
        nonlocal first
        said, first = first, b""
        return _cover(found.group(), said)

    return _RUNS.sub(cover, data)


def _cover(run: bytes, marker: bytes) -> bytes:
    if not run.isascii():
        return "".join(map(_like, run.decode("utf-8", "surrogateescape"))).encode()
    shown = next((one for one in (marker, _SHORT_MARKER) if one and len(one) <= len(run)), b"")
    return (shown if marker else b"").ljust(len(run), b"*")


def _like(character: str) -> str:
    """Return another character with the same number of cells and bytes."""
    if "\udc80" <= character <= "\udcff":  # a byte that is no text: a terminal shows a sign for it
        return "*"
    size, cells = len(character.encode()), width(character)
    covers = _JOINING if cells == 0 else _WIDE if cells == 2 else _NARROW  # noqa: PLR2004
    return covers.get(size, character)
