"""The daemon's socket, byte by byte: for clients that do not behave."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any, Self

from support.agent import Agent

_SECONDS = 30.0


class Wire:
    """One connection; nothing is checked, completed or waited for unless asked."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Blocking while it connects: a full backlog is to be waited for.
        self.socket.connect(path)
        self.socket.settimeout(_SECONDS)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def post(self, op: str, **fields: Any) -> None:
        """Send a request and do not wait for its answer."""
        self.put(json.dumps({"op": op, **fields}).encode() + b"\n")

    def answer(self) -> Any:
        """Return the next envelope; None if the daemon hung up instead."""
        line = self._file.readline()
        return json.loads(line) if line else None

    def piece(self) -> bytes:
        """Return what a stream has next, also if it came together with the answer before it."""
        return self._file.read1()

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self.socket.close()


def wire(agent: Agent) -> Wire:
    """Connect to a daemon that runs."""
    return Wire(agent.layout.socket)


def exchange(agent: Agent, line: bytes) -> Any:
    """Send one line on a connection of its own and return the envelope."""
    with wire(agent) as connection:
        # Refused in the middle: the answer says why.
        with contextlib.suppress(ConnectionError):
            connection.put(line + b"\n")
        return connection.answer()
