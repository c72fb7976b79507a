"""The gateway, which the keeper forks when the daemon asks for it. There is at most one."""

from __future__ import annotations

import os

from agent_pty.core.layout import Layout
from agent_pty.keeper import warm
from agent_pty.keeper.message import Connected
from agent_pty.keeper.peers import Peer, Peers


class Gateway:
    """Knows the gateway's process; *keeper* is what a forked one must keep alive."""

    def __init__(self, layout: Layout, peers: Peers, keeper: object) -> None:
        self._layout = layout
        self._peers = peers
        self._keeper = keeper
        self._pid: int | None = None
        self._waiting: list[int] = []  # for one that has not connected yet

    @property
    def pid(self) -> int | None:
        """Its process; None if there is none."""
        return self._pid

    def resume(self, pid: int | None) -> None:
        """Continue after an upgrade: it is still our child."""
        self._pid = pid

    def fork(self, daemon: int) -> int:
        """Give the gateway *daemon*, a connection to the daemon; fork one if there is none."""
        peer = self._peers.gateway
        if peer is not None:
            self._pass_on(peer, daemon)
        elif self._pid is not None:
            self._waiting.append(os.dup(daemon))
        else:
            self._pid = warm.fork(
                "gateway",
                {"layout": self._layout.to_wire(), "daemon": daemon},
                keep_alive=[self._keeper],
                keep_open=[daemon],
            )
        return self._pid or 0

    def _pass_on(self, peer: Peer, daemon: int) -> None:
        self._peers.tell(peer, Connected(), [daemon])

    def connected(self, peer: Peer) -> None:
        """Note its process, which may be that of a dead keeper; give it what came before."""
        self._pid = int(peer.name)
        waiting, self._waiting = self._waiting, []
        for daemon in waiting:
            self._pass_on(peer, daemon)
            os.close(daemon)

    def gone(self) -> None:
        """Note its end; the daemon sees that its connection is closed, and asks for another."""
        self._pid = None
        for daemon in self._waiting:
            os.close(daemon)
        self._waiting = []
