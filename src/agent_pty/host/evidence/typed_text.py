"""What was typed, without its secrets, in the pieces in which it can be recorded.

A piece that does not end its line is held back: a secret may be typed in pieces, and only the
whole line shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent_pty.core.redaction.redactor import Redactor
from agent_pty.host.evidence.cleaning import Cleaner

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
    redactor: Redactor | None = None


def _forget(_held: bytes, _key_lines: int) -> None:
    """Keep nothing: what is held back is gone with its process."""


class TypedText:
    """Follows the input of one session; *keep* is given what must survive this process.

    That is what is held back, and how many lines a private key that is being typed may still have.
    """

    def __init__(self, cleaner: Cleaner, keep: Callable[[bytes, int], None] = _forget) -> None:
        self._cleaner = cleaner
        self._keep = keep
        self._held = b""
        # One for all lines: a private key is typed line by line.
        self._redactor = cleaner.stream()

    def resume(self, length: int, end: bytes, key_lines: int) -> None:
        """Go on with what a dead host held back: *length* bytes, of which the *end* was kept."""
        self._redactor = self._cleaner.stream(key_lines)
        missing = length - len(end)
        self._held = (f"[{missing} bytes are not known]".encode() if missing else b"") + end

    def piece(self, data: bytes, *, unseen: bool) -> Piece:
        """Return what to record of *data*; if *unseen* the terminal does not show it: a secret."""
        if unseen:
            return Piece(f"[no-echo input, {len(data)} bytes]".encode())
        end = 1 + max(data.rfind(one) for one in _ENDS)
        if len(self._held) + len(data) - end > _MOST_HELD:
            end = len(data)
        if end == 0:
            return Piece(b"", held=len(data), waiting=self._held + data)
        redactor, rest = self._redactor.copied(), data[end:]
        text = redactor.feed(self._held + data[:end]) + redactor.close()
        self._cleaner.add_counts(redactor.counts)
        return Piece(text, held=len(rest), waiting=rest, redactor=redactor)

    def recorded(self, piece: Piece) -> None:
        """The piece was recorded; one that was refused was not typed, and leaves no trace."""
        redactor = piece.redactor or self._redactor
        if piece.waiting or self._held or redactor.key_lines != self._redactor.key_lines:
            self._keep(piece.waiting, redactor.key_lines)
        self._held, self._redactor = piece.waiting, redactor
