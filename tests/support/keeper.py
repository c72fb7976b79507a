"""A real keeper with a home of its own, asked over its socket."""

from __future__ import annotations

import itertools
import os
import select
import shutil
import signal
import socket
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from agent_pty.client.start import start_keeper
from agent_pty.core.layout import Layout
from agent_pty.keeper.channel import Channel, Message
from agent_pty.store.home import prepare

_SECONDS = 30.0


class Talk:
    """One connection to a keeper, in the role of a daemon or of a host."""

    def __init__(self, path: str, *, role: str = "daemon", name: str = "") -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self._channel = Channel(self.socket)
        self._numbers = itertools.count(1)
        self._arrived: deque[Message] = deque()
        self.hello = self.ask(do="hello", role=role, name=name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, *, fds: tuple[int, ...] = (), **body: Any) -> dict[str, Any]:
        """Return the keeper's answer; an error is an answer too."""
        number = next(self._numbers)
        self._channel.post({**body, "seq": number}, fds)
        return self._next(lambda message: message.body.get("re") == number).body

    def event(self, kind: str) -> Message:
        """Return the next thing of this kind that the keeper says unasked."""
        return self._next(lambda message: message.body.get("event") == kind)

    def spawn(self, instance: str, *argv: str, **fields: Any) -> dict[str, Any]:
        """Start a program."""
        program = {"argv": argv, "cwd": "/", "env": {}, "rows": 24, "cols": 80}
        return self.ask(do="spawn", instance=instance, **{**program, **fields})

    def _next(self, wanted: Callable[[Message], bool]) -> Message:
        while True:
            for message in self._arrived:
                if wanted(message):
                    self._arrived.remove(message)
                    return message
            if not select.select([self.socket], [], [], _SECONDS)[0]:
                raise TimeoutError(f"the keeper said only {list(self._arrived)}")
            self._arrived.extend(self._channel.receive())

    def close(self) -> None:
        """Hang up."""
        for message in self._arrived:
            for fd in message.fds:
                os.close(fd)
        self._channel.close()


@contextmanager
def keeper() -> Iterator[tuple[Layout, Talk]]:
    """Start a keeper; afterwards it is gone, with its programs."""
    # Not tmp_path: a socket's path may have 107 bytes.
    home = tempfile.mkdtemp(prefix="ap-")
    where = Layout(home=home, socket=f"{home}/s.sock", log_dir=f"{home}/runs")
    prepare(where)
    try:
        assert start_keeper(where)
        with Talk(where.keeper_socket) as talk:
            handle = os.pidfd_open(talk.hello["pid"])
            try:
                yield where, talk
            finally:
                signal.pidfd_send_signal(handle, signal.SIGTERM)
                wait_for_end(handle)
                os.close(handle)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def master_of(adopt: Message) -> int:
    """Return the terminal that a host was handed, without the spool."""
    master, spool = adopt.fds
    os.close(spool)
    return master


def wait_for_end(handle: int) -> None:
    """Return when the process behind a handle has ended."""
    if not select.select([handle], [], [], _SECONDS)[0]:
        raise TimeoutError("the process does not end")


def read_until(master: int, text: bytes) -> bytes:
    """Read a terminal until *text* has come, or until its end if that never comes."""
    data = b""
    while text not in data:
        if not select.select([master], [], [], _SECONDS)[0]:
            raise TimeoutError(f"the terminal said only {data!r}")
        try:
            data += os.read(master, 1 << 16)
        except OSError:  # Linux reports the end of a pty as EIO, not as an empty read.
            return data
    return data
