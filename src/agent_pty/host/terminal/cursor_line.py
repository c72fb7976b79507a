"""The line on which the cursor of a screen stands, as the transcript would have it."""

from __future__ import annotations

from agent_pty.core.width import cells, width
from agent_pty.emulator import Emulator


def cursor_line(emulator: Emulator) -> bytes:
    """Return what writes the line of the cursor and leaves the cursor where it is in it.

    Of a full-screen program that is only that it has the screen.
    """
    if emulator.alternate:
        return b"\x1b[?1049h"
    cursor = emulator.cursor
    before, after = _cut(emulator.lines()[cursor.row], cursor.col + cursor.pending_wrap)
    back = f"\x1b[{cells(after)}D" if after else ""
    return f"{before}{after}{back}".encode()


def _cut(row: str, column: int) -> tuple[str, str]:
    """Cut a row at a column; the first part is as long as that, if need be with blanks."""
    at = end = 0
    while end < len(row) and at + width(row[end]) <= column:
        at += width(row[end])
        end += 1
    return row[:end] + " " * (column - at), row[end:]
