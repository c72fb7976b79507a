"""What the kernel knows of a terminal, asked through its master."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import sys
import termios
from dataclasses import dataclass

_GET_NUMBER = 0x80045430  # TIOCGPTN, Linux only
_OPEN_PEER = 0x5441  # TIOCGPTPEER, Linux only


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


# Nobody presses more of them at once.
_MOST_FLOW_KEYS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowKeys:
    """The keys that stop and resume output, Ctrl-S and Ctrl-Q unless somebody chose others."""

    stop: bytes
    start: bytes


def flow_keys(master: int) -> FlowKeys | None:
    """Return the keys that stop and resume output; None if they are keys like any other."""
    try:
        modes = termios.tcgetattr(master)
    except termios.error:
        return None
    if not modes[0] & termios.IXON:
        return None
    return FlowKeys(stop=modes[6][termios.VSTOP], start=modes[6][termios.VSTART])


def only_flow_keys(master: int, data: bytes) -> bool:
    """Whether the kernel takes all of *data*: it stops and resumes output, and no line changes."""
    if not data or len(data) > _MOST_FLOW_KEYS or not (keys := flow_keys(master)):
        return False
    return not data.strip(keys.stop + keys.start)


def signal_of(master: int, data: bytes) -> int | None:
    """Return the signal that the kernel makes of a key in *data*, if it ends programs."""
    try:
        modes = termios.tcgetattr(master)
    except termios.error:
        return None
    keys = {modes[6][termios.VINTR]: signal.SIGINT, modes[6][termios.VQUIT]: signal.SIGQUIT}
    if not modes[3] & termios.ISIG:
        return None
    return next((number for key, number in keys.items() if key != b"\0" and key in data), None)


def refuses_output(master: int) -> bool | None:
    """Whether the program cannot write now although we have read all that it wrote.

    None if the kernel cannot be asked: not on macOS, nor without a free descriptor.
    """
    if sys.platform != "linux":
        return None
    flags = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        program_end = fcntl.ioctl(master, _OPEN_PEER, flags)
    except OSError:
        return None
    try:
        # The order matters: polling the master waits until what was written can be read.
        return not _ready(program_end, select.POLLOUT) and not _ready(master, select.POLLIN)
    finally:
        os.close(program_end)


def _ready(fd: int, event: int) -> bool:
    poll = select.poll()
    poll.register(fd, event)
    return bool(poll.poll(0))


def name(master: int) -> str | None:
    """Return the path that programs know the terminal by."""
    try:
        # os.ptsname came with Python 3.13.
        number = fcntl.ioctl(master, _GET_NUMBER, bytes(4))
    except OSError:
        return None
    return f"/dev/pts/{struct.unpack('I', number)[0]}"
