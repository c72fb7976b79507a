"""Reading a terminal: as much as a batch may have, and something to do while there is no more yet.

The kernel hands over some 4 KiB at a time, and a worker of its own fills them anew after each
read, on another core if there is one. What takes as long as that costs nothing if it is done then.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import termios
import time
from collections.abc import Callable

from agent_pty.emulator import Emulator

# What a terminal holds at most for who reads it.
_KERNEL_HOLDS = 4095
_LEAST_ROOM = 4096
_AWAKE_SECONDS = 0.0001 if (os.cpu_count() or 1) > 1 else 0.0
_NOTHING = bytes(4)


def drain(
    fd: int, room: memoryview, reads: int, meanwhile: Callable[[memoryview], None]
) -> tuple[int, bool]:
    """Read until the terminal is empty, the room full or the batch long enough.

    Return how many bytes, and whether the terminal is still open. *meanwhile* is given all that
    was read so far, whenever more is on its way.
    """
    count = 0
    for _ in range(reads):
        try:
            got = os.readv(fd, [room[count:]])
        except BlockingIOError:
            return count, True
        except OSError:  # Linux reports the end of a pty as EIO, not as an empty read.
            return count, False
        if got == 0:
            return count, False
        count += got
        if len(room) - count < _LEAST_ROOM:
            break
        if got >= _KERNEL_HOLDS:
            meanwhile(room[:count])
            _await_more(fd)
    return count, True


def _await_more(fd: int) -> None:
    """Wait a moment, awake, for the worker of the kernel.

    A read that comes too early sleeps until then, and to be woken takes longer than to wait: a
    flood gets through a sixth faster. Only with a core to spare for the worker.
    """
    deadline = time.perf_counter() + _AWAKE_SECONDS
    with contextlib.suppress(OSError):
        while fcntl.ioctl(fd, termios.FIONREAD, _NOTHING) == _NOTHING:
            if time.perf_counter() > deadline:
                return


class Preview:
    """Shows an emulator the text a batch begins with, before the batch is complete.

    Not what comes behind an escape: around a mark the order of things matters. If one has begun in
    the batch before, it is *over* from the start.
    """

    def __init__(self, emulator: Emulator, *, over: bool) -> None:
        self.shown = 0
        self._emulator = emulator
        self._over = over

    def show(self, batch: memoryview) -> None:
        """Show what is new in *batch*."""
        if self._over:
            return
        new = bytes(batch[self.shown :])
        if b"\x1b" in new:
            self._over = True
        else:
            self._emulator.feed(new)
            self.shown = len(batch)
