"""What paints the screen of a terminal again, without its secrets: how a segment begins."""

from __future__ import annotations

from collections.abc import Iterable

from agent_pty.core.redaction.key_block import headless_keys
from agent_pty.core.redaction.mask import masked
from agent_pty.core.redaction.redactor import Redactor
from agent_pty.emulator import Emulator

_RESET = b"\x1bc"
_ENTER_ALTERNATE = b"\x1b[?1049h"


def repaint(emulator: Emulator, known: Iterable[bytes]) -> str:
    """Return what paints this screen on any terminal of its size; *known* values are secret."""
    enter = _ENTER_ALTERNATE if emulator.alternate else b""
    painted = _covered(_painted(emulator, enter), known)
    return (_RESET + enter + painted).decode("utf-8", "replace")


def _painted(emulator: Emulator, enter: bytes) -> bytes:
    """Return the screen with every wrapped line in one piece, if it wraps again as it is."""
    whole = emulator.format("vt", unwrap=True).encode()
    again = Emulator(rows=emulator.rows, cols=emulator.cols)
    try:
        again.feed(enter + whole)
        if (again.lines(), again.cursor) == (emulator.lines(), emulator.cursor):
            return whole
    finally:
        again.close()
    return emulator.format("vt").encode()


def _covered(painted: bytes, known: Iterable[bytes]) -> bytes:
    """Cover the secrets of a screen, which may begin in the middle of one."""
    for start, end in headless_keys(painted):
        cover = masked(painted[start:end], b"[REDACTED:private_key]")
        painted = painted[:start] + cover + painted[end:]
    redactor = Redactor(known, in_place=True)
    return redactor.feed(painted) + redactor.close()
