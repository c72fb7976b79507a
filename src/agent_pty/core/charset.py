"""Character sets: whether small letters stand for lines and corners (VT100 special graphics).

Two sets can be designated, G0 and G1, and a shift chooses which of them is used. Rule of the file:
only line drawing matters. A shift to G1 counts while G1 is line drawing; other sets are letters.
"""

from typing import Final

from msgspec import Struct

# The characters that the emulator shows for 0x60 to 0x7e, so that screen and transcript agree.
_LINES: Final = dict(zip(range(0x60, 0x7F), "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True))
_GRAPHICS: Final = b"0"


class Charset(Struct, array_like=True):
    """Which of the two sets are line drawing, and whether the second one is used."""

    g0: bool = False
    g1: bool = False
    shifted: bool = False

    @property
    def drawing(self) -> bool:
        """Say whether letters stand for lines now."""
        return self.g1 if self.shifted else self.g0

    @property
    def designated(self) -> bool:
        """Say whether one of the sets is line drawing, so that shifts and designations matter."""
        return self.g0 or self.g1

    def designate(self, sequence: bytes) -> None:
        """Obey `ESC ( F` for G0 or `ESC ) F` for G1."""
        drawing = sequence[2:] == _GRAPHICS
        if sequence[1:2] == b"(":
            self.g0 = drawing
        else:
            self.g1 = drawing
            self.shifted = self.shifted and drawing

    def shift(self, *, out: bool) -> None:
        """Use G1 (Shift Out) or G0 (Shift In)."""
        self.shifted = out and self.g1


def drawn(text: bytes) -> bytes:
    """Return *text* with lines and corners in the place of small letters."""
    return text.decode().translate(_LINES).encode()
