"""A mark behind everything that a program has written, when it has ended.

The program's end of a pane's terminal keeps the order of what is written to it. So when the mark
comes out of the pipe, all that the program wrote has come before it. Terminals show nothing of it.
"""

from __future__ import annotations

import os
import secrets


class Fence:
    """Is written once, with a number that no program can know before."""

    def __init__(self) -> None:
        self._mark = f"\x1b]5379;{secrets.token_hex(8)}\x1b\\".encode()
        self._end = b""
        self.seen = False

    def write(self, tty: int) -> bool:
        """Write the mark; False if the terminal does not take it now."""
        try:
            return os.write(tty, self._mark) == len(self._mark)
        except OSError:
            return False

    def feed(self, data: bytes) -> None:
        """Look for the mark in what comes out of the pipe."""
        together = self._end + data
        self.seen = self.seen or self._mark in together
        self._end = together[-len(self._mark) :]
