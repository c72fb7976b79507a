"""A person's own terminal: put into raw mode, and always given back as it was."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
import tty
from collections.abc import Iterator

# What a program may have switched on: alternate screen, mouse, focus, paste, keys, hidden cursor.
_RESTORE = (
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?2026l"
    b"\x1b[?1l\x1b>\x1b[?7h\x1b[r\x1b[?1049l\x1b[?25h\x1b[0m"
)


@contextlib.contextmanager
def raw_mode(stdin: int, stdout: int) -> Iterator[None]:
    """Pass every key as it is; whatever happens, leave the terminal as it was found."""
    if not os.isatty(stdin):
        yield
        return
    before = termios.tcgetattr(stdin)
    try:
        tty.setraw(stdin)
        with _ending_by_exception():
            yield
    finally:
        termios.tcsetattr(stdin, termios.TCSAFLUSH, before)
        if os.isatty(stdout):
            os.write(stdout, _RESTORE)


@contextlib.contextmanager
def _ending_by_exception() -> Iterator[None]:
    """Turn the signals that would end us at once into an orderly way out."""

    def leave(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def size(fd: int) -> tuple[int, int] | None:
    """Return rows and columns of a terminal, None if it is none or has no size."""
    try:
        found = os.get_terminal_size(fd)
    except OSError:
        return None
    return (found.lines, found.columns) if found.lines and found.columns else None
