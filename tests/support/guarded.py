"""A guarded session as a host of the keeper sees it: its terminal, its listener, its questions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agent_pty.core.layout import Layout
from agent_pty.keeper import seccomp
from support.keeper import Talk, read_until


@dataclass
class GuardedSession:
    """The keeper's end of one guarded program, and how execs of it are answered."""

    talk: Talk
    instance: str
    master: int
    listener: int

    def asked(self) -> dict[str, Any]:
        """Return the next exec that the keeper forwards."""
        return self.talk.event("exec_asked").body

    def answer(self, asked: dict[str, Any], error: int | None = None) -> None:
        """Answer an exec as a host does: by its own duplicate, and the keeper is told."""
        seccomp.answer(self.listener, asked["id"], error=error)
        self.talk.ask(do="exec_answered", instance=self.instance, id=asked["id"])

    def type(self, line: str) -> None:
        """Type a line into the terminal."""
        os.write(self.master, line.encode() + b"\r")

    def read_until(self, text: str) -> str:
        """Read the terminal until *text* has come."""
        return read_until(self.master, text.encode()).decode()

    def close(self) -> None:
        """Close what the host had."""
        os.close(self.master)
        os.close(self.listener)


@contextmanager
def host(layout: Layout, name: str) -> Iterator[Talk]:
    """Connect to the keeper as a host."""
    with Talk(layout.keeper_socket, role="host", name=name) as talk:
        yield talk


def hand(daemon: Talk, host: Talk, instance: str, name: str) -> GuardedSession:
    """Have the keeper give a guarded session to a host."""
    assert daemon.ask(do="hand", instance=instance, host=name, spec={}).get("error") is None
    adopt = host.event("adopt")
    assert adopt.body["guard"] is True
    master, spool, listener = adopt.fds
    os.close(spool)
    return GuardedSession(host, instance, master, listener)
