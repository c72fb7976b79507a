"""Daemons that the keeper forks: for a client that asks for one, and when one has died."""

from __future__ import annotations

import os
import selectors
from collections.abc import Sequence
from typing import Any

from agent_pty.core.layout import Layout
from agent_pty.keeper import warm
from agent_pty.keeper.daemon_socket import DaemonSocket
from agent_pty.keeper.message import Leaving, Listening, Relisten
from agent_pty.keeper.peers import Peers


class Daemons:
    """There is at most one daemon; *keeper* is what a forked one must keep alive."""

    def __init__(
        self, layout: Layout, selector: selectors.BaseSelector, peers: Peers, keeper: object
    ) -> None:
        self.socket = DaemonSocket(selector, self._fork_successor)
        self._layout = layout
        self._peers = peers
        self._keeper = keeper
        self._forked: set[int] = set()
        self._waiting: list[int] = []

    @property
    def wanted(self) -> bool:
        """Whether there is a daemon, or clients may wait for one."""
        return bool(self._forked) or self._peers.daemon is not None or self.socket.fd is not None

    def fork(self, ready: int) -> int:
        """Fork a daemon, which reports on *ready*; if there is one, have it look at its socket."""
        if self._peers.daemon is not None:
            self._ask_to_look(ready)
            return 0
        if self._forked:  # one is on its way
            self._waiting.append(os.dup(ready))
            return 0
        inherited = self.socket.fd
        arguments: dict[str, Any] = {"layout": self._layout.to_wire(), "ready": ready}
        kept = [ready] if inherited is None else [ready, inherited]
        pid = warm.fork(
            "daemon",
            {**arguments, "listener": inherited},
            keep_alive=[self._keeper],
            keep_open=kept,
        )
        self._forked.add(pid)
        self.socket.daemon_runs()
        return pid

    def _ask_to_look(self, ready: int) -> None:
        daemon = self._peers.daemon
        if daemon is not None:
            self._peers.tell(daemon, Relisten(), [ready])

    def _answer_waiting(self) -> None:
        """Pass on the descriptors of clients that asked before; without a daemon, close them."""
        waiting, self._waiting = self._waiting, []
        for ready in waiting:
            self._ask_to_look(ready)
            os.close(ready)

    def _fork_successor(self) -> None:
        """Fork a daemon whose report nobody waits for."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            self.fork(nowhere)
        finally:
            os.close(nowhere)

    def take(self, said: Listening | Leaving, fds: Sequence[int]) -> None:
        """Hear from the daemon where it listens, and later that it will end."""
        if isinstance(said, Listening):
            (listener,) = fds
            self.socket.hold(listener)
            self._answer_waiting()
        elif said.successor:
            self.socket.expect_successor()
        else:
            self.socket.close()

    def child_ended(self, pid: int, *, sessions: bool) -> bool:
        """Note that a child ended, which may be a daemon that never connected; say if it was."""
        if pid not in self._forked:
            return False
        self._forked.discard(pid)
        self._answer_waiting()
        self.gone(sessions=sessions)
        return True

    def gone(self, *, sessions: bool) -> None:
        """See to the next daemon, unless there is one or one is about to connect."""
        if self._peers.daemon is None and not self._forked:
            self.socket.daemon_gone(sessions=sessions)

    def resume(self, fd: int | None) -> None:
        """Continue after an upgrade: hold the socket for the daemon that comes next."""
        if fd is not None:
            self.socket.hold(fd)
            self.socket.expect_successor()
            os.close(fd)
