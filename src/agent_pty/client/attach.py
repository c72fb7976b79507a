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
from typing import Any

from agent_pty.client.connection import Connection
from agent_pty.client.leaving import Deadline, Left, Settling
from agent_pty.client.terminal import raw_mode
from agent_pty.errors import AgentPtyError

_CHUNK = 1 << 16
# Streams that end before anything was seen of them.
_MOST_FAILURES = 10
_ENTER_ALTERNATE = b"\x1b[?1049h"


class Attachment:
    """One person's stream of a session, opened again when the daemon has died.

    *connect* connects to the daemon and, if its argument is true, starts one. *size* returns that
    of the person's window, which the session has while they are attached; None: it keeps its own.
    What was typed is never sent twice: *lost* is how many bytes may not have arrived.
    """

    def __init__(
        self,
        connect: Callable[[bool], Connection],
        *,
        name: str,
        size: Callable[[], tuple[int, int] | None] = lambda: None,
        **fields: Any,
    ) -> None:
        self._connect = connect
        self._name = name
        self._size = size
        self._sized: tuple[int, int] | None = None
        self._fields = {**fields, "viewer": os.urandom(8).hex()}
        self._connection: Connection | None = None
        self._sent = 0
        # Where the transcript was when the stream began, and when it was asked for last.
        self._cursor: int | None = None
        self._cursor_then: int | None = None
        self._failures = 0
        self.lost = 0
        self.stream = self._open()

    def _open(self) -> socket.socket:
        first = self._connection is None
        if not first:
            self.close()
            self._fields |= {"repaint": True, "notice": None}
        self._connection = self._connect(first)
        self._sized = self._size()
        rows, cols = self._sized or (None, None)
        try:
            stream, answer = self._connection.stream(
                "attach", id=self._name, rows=rows, cols=cols, **self._fields
            )
        except BaseException:
            self.close()
            raise
        arrived = (answer or {}).get("typed", 0)
        self._cursor = self._cursor_then = (answer or {}).get("cursor")
        self.lost += max(0, self._sent - arrived)
        self._sent = arrived
        return stream

    def send(self, data: bytes) -> None:
        """Type; if the daemon is gone, what does not arrive is counted later."""
        self._sent += len(data)
        with contextlib.suppress(OSError):  # reading will show it
            self.stream.sendall(data)

    def received(self) -> bytes:
        """Return what came; empty at the end of the stream."""
        try:
            data = self.stream.recv(_CHUNK)
        except ConnectionError:  # a daemon that is killed leaves what it had not read
            data = b""
        if data:
            self._failures = 0
        return data

    def follow_size(self) -> None:
        """Give the session the size of the window, if that has changed."""
        now = self._size()
        if now is None or now == self._sized:
            return
        self._sized = now
        self._ask("resize", rows=now[0], cols=now[1], viewer=self._fields["viewer"])

    def last_screen(self) -> str:
        """Return the text on the screen of a session that has ended; empty if it is gone."""
        return str((self._ask("render") or {}).get("content", "")).rstrip()

    def is_busy(self) -> bool:
        """Whether the session's program works, or has shown nothing of what was typed so far.

        One that has written since the last call counts as busy: that may be still on its way here.
        """
        now = self._ask("doing") or {}
        cursor = now.get("cursor")
        unseen = self._sent > 0 and cursor == self._cursor
        wrote, self._cursor_then = cursor != self._cursor_then, cursor
        return unseen or wrote or now.get("what") == "busy"

    def _ask(self, op: str, **fields: Any) -> Any:
        """Return an answer; None if there is none, which the stream will show as well."""
        with contextlib.suppress(AgentPtyError, OSError), self._connect(False) as connection:
            return connection.ask(op, id=self._name, **fields)
        return None

    def reopen(self) -> bool:
        """Attach again if the session still runs; False if it was the session that ended."""
        self._failures += 1
        if self._failures > _MOST_FAILURES:
            return False
        try:
            # Not started here: a daemon that was stopped shall stay so.
            with self._connect(False) as connection:
                sessions = connection.ask("list")
            if not any(one["id"] == self._name and one["active"] for one in sessions):
                return False
            self.stream = self._open()
        except (AgentPtyError, OSError):  # refused, or reset by a keeper that closes the socket
            return False
        return True

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()


def follow(
    attachment: Attachment,
    *,
    stdin: int | None,
    stdout: int,
    seconds: float | None,
    detach: bytes,
    typing: bool = True,
    alternate: bool = False,
) -> Left:
    """Copy the attachment to *stdout* and, if *typing*, *stdin* to it, up to *detach*.

    Input that ends does not end the attachment at once: what it caused is still to be seen, for
    *seconds* or, without them, until the output has settled. With *alternate* the terminal's
    alternate screen is set for that time.
    """
    end: Deadline | Settling = Settling(attachment.is_busy)
    if seconds is not None:
        end = Deadline(time.monotonic() + seconds)
    with contextlib.ExitStack() as stack:
        stack.enter_context(raw_mode(stdin, stdout))
        if alternate:
            _write(stdout, _ENTER_ALTERNATE)
        resized = stack.enter_context(_size_changes())
        attachment.follow_size()
        give = attachment.send if typing else _drop
        # Who only watches may leave as one leaves any program.
        key = re.compile(re.escape(detach) + (b"" if typing else b"|\x03"))
        return _loop(attachment, stdin, stdout, end, give, key, resized)


def _loop(  # noqa: PLR0917  one loop and all its ends
    attachment: Attachment,
    stdin: int | None,
    stdout: int,
    end: Deadline | Settling,
    give: Callable[[bytes], None],
    leave: re.Pattern[bytes],
    resized: int,
) -> Left:
    if stdin is None:
        end.input_ended(time.monotonic())
    while True:
        stream = attachment.stream.fileno()
        watched = [fd for fd in (stream, stdin, resized) if fd is not None]
        ready, _, _ = select.select(watched, [], [], end.wait(time.monotonic()))
        if not ready and end.has_come(time.monotonic()):
            return end.reason
        if resized in ready:
            os.read(resized, _CHUNK)
            attachment.follow_size()
        if stream in ready:
            data = attachment.received()
            if not data and not attachment.reopen():
                return Left.ENDED
            _write(stdout, data)
            end.output_came(time.monotonic())
        if stdin in ready and stdin is not None:
            typed = os.read(stdin, _CHUNK)
            if not typed:
                stdin = None
                end.input_ended(time.monotonic())
                continue
            found = leave.search(typed)
            give(typed[: found.start()] if found else typed)
            if found:
                return Left.DETACHED


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
