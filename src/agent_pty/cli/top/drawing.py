"""A full-screen picture made of lines: only those that changed are drawn again. Pure.

Rule of the file: one draw is one byte string, marked as one step (`CSI ? 2026`), so that no
terminal shows half of it.
"""

from __future__ import annotations

from collections.abc import Sequence

# Alternate screen, no cursor, no wrapping: a character wider than expected moves nothing else.
_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[0m\x1b[2J"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"

LEAVE = b"\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"


class Canvas:
    """Knows what the terminal shows."""

    def __init__(self) -> None:
        self._shown: list[str] | None = None

    def forget(self) -> None:
        """Assume nothing: the next draw enters the screen and draws every line."""
        self._shown = None

    def draw(self, lines: Sequence[str]) -> bytes:
        """Return the bytes that make the terminal show *lines*; empty if it shows them already."""
        before = self._shown
        self._shown = list(lines)
        if before is None or len(before) != len(lines):
            before = [""] * len(lines)
            start = _ENTER
        else:
            start = ""
        changed = [
            # Erased before it is drawn: after a full line the cursor is on its last character.
            f"\x1b[{row};1H\x1b[0m\x1b[2K{line}"
            for row, (line, old) in enumerate(zip(lines, before, strict=True), start=1)
            if line != old
        ]
        if not (start or changed):
            return b""
        text = "".join([_BEGIN, start, *changed, "\x1b[0m", _END])
        return text.encode("utf-8", "replace")
