"""Attach a person's terminal to a session: bytes both ways until somebody leaves."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from enum import Enum

from agent_pty.client.terminal import raw_mode

_CHUNK = 1 << 16


class Left(Enum):
    """Why an attachment ended."""

    DETACHED = "detached"
    ENDED = "ended"
    TIMED_OUT = "timed out"


def follow(
    stream: socket.socket,
    *,
    stdin: int | None,
    stdout: int,
    seconds: float | None,
    detach: bytes,
    on_resize: Callable[[], None],
    typing: bool = True,
) -> Left:
    """Copy the stream to *stdout* and, if *typing*, *stdin* to the stream, up to *detach*.

    Input that ends does not end the attachment: what it caused is still to be seen.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        stack.enter_context(raw_mode(stdin, stdout))
        resized = stack.enter_context(_size_changes())
        on_resize()
        give = stream.sendall if typing else _drop
        # Who only watches may leave as one leaves any program.
        key = re.compile(re.escape(detach) + (b"" if typing else b"|\x03"))
        return _loop(stream, stdin, stdout, deadline, give, key, resized, on_resize)


def _loop(  # noqa: PLR0917  one loop and all its ends
    stream: socket.socket,
    stdin: int | None,
    stdout: int,
    deadline: float | None,
    give: Callable[[bytes], None],
    leave: re.Pattern[bytes],
    resized: int,
    on_resize: Callable[[], None],
) -> Left:
    while True:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        watched = [fd for fd in (stream.fileno(), stdin, resized) if fd is not None]
        ready, _, _ = select.select(watched, [], [], wait)
        if not ready:
            return Left.TIMED_OUT
        if resized in ready:
            os.read(resized, _CHUNK)
            on_resize()
        if stream.fileno() in ready:
            data = _received(stream)
            if not data:
                return Left.ENDED
            _write(stdout, data)
        if stdin in ready and stdin is not None:
            typed = os.read(stdin, _CHUNK)
            if not typed:
                stdin = None
                continue
            found = leave.search(typed)
            with contextlib.suppress(ConnectionError):  # reading will tell
                give(typed[: found.start()] if found else typed)
            if found:
                return Left.DETACHED


def _received(stream: socket.socket) -> bytes:
    try:
        return stream.recv(_CHUNK)
    except ConnectionError:  # a daemon that is killed leaves what it had not read
        return b""


def _drop(_typed: bytes) -> None:
    """Who only watches types nothing."""


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


@contextlib.contextmanager
def _size_changes() -> Iterator[int]:
    """Give a descriptor that becomes readable when the terminal changes its size."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.signal(signal.SIGWINCH, lambda *_: None)
    wakeup = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield read
    finally:
        signal.set_wakeup_fd(wakeup)
        signal.signal(signal.SIGWINCH, before)
        os.close(read)
        os.close(write)
