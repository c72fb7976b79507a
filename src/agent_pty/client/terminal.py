"""A person's own terminal: put into raw mode, and always given back as it was."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
import tty
from collections.abc import Iterator

from agent_pty.core.safe import QUIET


@contextlib.contextmanager
def raw_mode(stdin: int | None, stdout: int) -> Iterator[None]:
    """Pass every key as it is; whatever happens, leave the terminal as it was found."""
    with _ending_by_exception(), _quiet_again(stdout), _raw(stdin):
        yield


@contextlib.contextmanager
def _raw(stdin: int | None) -> Iterator[None]:
    if stdin is None or not os.isatty(stdin):
        yield
        return
    before = termios.tcgetattr(stdin)
    try:
        tty.setraw(stdin)
        yield
    finally:
        with contextlib.suppress(termios.error):  # the terminal itself is gone
            termios.tcsetattr(stdin, termios.TCSAFLUSH, before)


@contextlib.contextmanager
def _quiet_again(stdout: int) -> Iterator[None]:
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if os.isatty(stdout):
                os.write(stdout, QUIET)


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
