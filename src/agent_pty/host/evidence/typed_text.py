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
    """What is recorded of some input now; *held* bytes of it are recorded later.

    *waiting* is all that is held back once the input has been recorded.
    """

    text: bytes
    held: int = 0
    waiting: bytes = b""


class TypedText:
    """Follows the input of one session. *known* are values that are secret wherever they stand."""

    def __init__(self, known: Iterable[bytes] = ()) -> None:
        self._known = tuple(known)
        self._held = b""

    def piece(self, data: bytes, *, unseen: bool) -> Piece:
        """Return what to record of *data*; if *unseen* the terminal does not show it: a secret."""
        if unseen:
            return Piece(f"[no-echo input, {len(data)} bytes]".encode())
        if not any(one in _ENDS for one in data) and len(self._held) < _MOST_HELD:
            return Piece(b"", held=len(data), waiting=self._held + data)
        redactor = Redactor(self._known)
        return Piece(redactor.feed(self._held + data) + redactor.close())

    def recorded(self, piece: Piece) -> None:
        """The piece was recorded; one that was refused was not typed, and leaves no trace."""
        self._held = piece.waiting
