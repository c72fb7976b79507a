"""What the kernel knows of a terminal, asked through its master."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import termios

_GET_NUMBER = 0x80045430  # TIOCGPTN, Linux only


def set_size(master: int, *, rows: int, cols: int) -> None:
    """Change the size; the kernel tells the foreground program by SIGWINCH."""
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def foreground(master: int) -> int | None:
    """Return the process group that owns the keyboard, None if there is none."""
    with contextlib.suppress(OSError):
        group = os.tcgetpgrp(master)
        return group if group > 0 else None
    return None


Modes = list[int | list[bytes | int]]


def modes(master: int) -> Modes | None:
    """Return how the terminal is set, for `restore`; None if it is gone."""
    try:
        return termios.tcgetattr(master)
    except termios.error:
        return None


def restore(master: int, saved: Modes) -> None:
    """Set the terminal as it was."""
    with contextlib.suppress(termios.error):
        termios.tcsetattr(master, termios.TCSANOW, saved)


def local_modes(master: int) -> int:
    """Return the local modes; 0 if the terminal is gone."""
    try:
        return int(termios.tcgetattr(master)[3])
    except termios.error:
        return 0


def echoes(master: int) -> bool:
    """Whether typed text will show.

    A line editor switches the kernel's echo off and draws the line itself; only echo off in
    line mode (`stty -echo`, a password prompt) means that nothing shows.
    """
    try:
        local = termios.tcgetattr(master)[3]
    except termios.error:
        return False
    return bool(local & termios.ECHO) or not local & termios.ICANON


def name(master: int) -> str | None:
    """Return the path that programs know the terminal by."""
    try:
        # os.ptsname came with Python 3.13.
        number = fcntl.ioctl(master, _GET_NUMBER, bytes(4))
    except OSError:
        return None
    return f"/dev/pts/{struct.unpack('I', number)[0]}"
