"""What was typed, without its secrets, in the pieces in which it can be recorded.

A piece that does not end its line is held back: a secret may be typed in pieces, and only the
whole line shows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent_pty.core.redaction.redactor import Redactor

# The line is at its end, or its editor has thrown it away.
_ENDS = b"\r\n\x03\x04"
_MOST_HELD = 65_536


@dataclass(frozen=True, slots=True)
class Piece:
    """What is recorded of some input now; *held* bytes of it are recorded later."""

    text: bytes
    held: int = 0


class TypedText:
    """Follows the input of one session. *known* are values that are secret wherever they stand."""

    def __init__(self, known: Iterable[bytes] = ()) -> None:
        self._known = tuple(known)
        self._held = b""

    def piece(self, data: bytes, *, unseen: bool) -> Piece:
        """Return what to record of *data*; if *unseen* the terminal does not show it: a secret."""
        if unseen:
            self._held = b""
            return Piece(f"[no-echo input, {len(data)} bytes]".encode())
        if not any(one in _ENDS for one in data) and len(self._held) < _MOST_HELD:
            self._held += data
            return Piece(b"", held=len(data))
        whole, self._held = self._held + data, b""
        redactor = Redactor(self._known)
        return Piece(redactor.feed(whole) + redactor.close())
