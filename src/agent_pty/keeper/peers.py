"""Connections to the keeper: accepted, read, written and closed in its select loop."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_pty.core.frame import Garbage
from agent_pty.keeper.channel import Channel, ChannelClosed, Message
from agent_pty.keeper.listen import is_ours
from agent_pty.keeper.message import KeeperEvent

# A peer that leaves this many messages unread will not read them.
_MOST_UNSENT = 10_000


@dataclass(slots=True)
class Peer:
    """A connection, with the role and name of the process at its other end."""

    channel: Channel
    role: str = ""
    name: str = ""
    waiting: bool = field(default=False)

    def introduce(self, role: str, name: str) -> None:
        """Note who it is, as its `Hello` says."""
        self.role, self.name = role, name


class Peers:
    """All connections; *handle* gets their messages and must close the descriptors.

    *gone* is called after a connection has ended.
    """

    def __init__(
        self,
        listener: socket.socket,
        selector: selectors.BaseSelector,
        handle: Callable[[Peer, Message], None],
        *,
        gone: Callable[[Peer], None],
    ) -> None:
        self._listener = listener
        self._selector = selector
        self._handle = handle
        self._gone = gone
        self._peers: dict[int, Peer] = {}
        self._spare = os.open(os.devnull, os.O_RDONLY)
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ, self._accept)

    @property
    def listener(self) -> socket.socket:
        """The socket that peers connect to."""
        return self._listener

    def host(self, name: str | None) -> Peer | None:
        """Return the connection of a host."""
        for peer in self._peers.values():
            if peer.role == "host" and peer.name == name:
                return peer
        return None

    @property
    def some(self) -> bool:
        """Whether anybody is connected."""
        return bool(self._peers)

    @property
    def daemon(self) -> Peer | None:
        """The connection of the daemon."""
        return self._only("daemon")

    @property
    def gateway(self) -> Peer | None:
        """The connection of the gateway."""
        return self._only("gateway")

    def _only(self, role: str) -> Peer | None:
        return next((peer for peer in self._peers.values() if peer.role == role), None)

    def tell_daemons(self, event: KeeperEvent) -> None:
        """Send an event to every daemon."""
        for peer in [peer for peer in self._peers.values() if peer.role == "daemon"]:
            self.tell(peer, event)

    def tell(self, peer: Peer, event: KeeperEvent, fds: Sequence[int] = ()) -> None:
        """Send an event; the caller keeps *fds*."""
        self.post(peer, {"event": event.event, **event.to_wire()}, fds)

    def post(self, peer: Peer, body: dict[str, Any], fds: Sequence[int] = ()) -> None:
        """Send a message; a peer that does not read is disconnected."""
        try:
            if not peer.channel.post(body, fds):
                self._watch(peer, writing=True)
            if peer.channel.unsent > _MOST_UNSENT:
                self._disconnect(peer)
        except ChannelClosed:
            self._disconnect(peer)

    def _accept(self, _events: int) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError as error:
            # Without a free descriptor the listener stays readable and the loop would spin.
            # The spare descriptor is there to accept the client and refuse it.
            if error.errno in {errno.EMFILE, errno.ENFILE}:
                self._refuse()
            return
        if not is_ours(sock):
            sock.close()
            return
        peer = Peer(Channel(sock))
        self._peers[peer.channel.fileno()] = peer
        self._selector.register(
            peer.channel, selectors.EVENT_READ, lambda events: self._serve(peer, events)
        )

    def _refuse(self) -> None:
        os.close(self._spare)
        with contextlib.suppress(OSError):
            self._listener.accept()[0].close()
        self._spare = os.open(os.devnull, os.O_RDONLY)

    def _serve(self, peer: Peer, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE and peer.channel.flush():
                self._watch(peer, writing=False)
            if events & selectors.EVENT_READ:
                for message in peer.channel.receive():
                    self._handle(peer, message)
        except (ChannelClosed, Garbage):
            self._disconnect(peer)

    def _watch(self, peer: Peer, *, writing: bool) -> None:
        if peer.waiting == writing or peer.channel.fileno() not in self._peers:
            return
        peer.waiting = writing
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if writing else 0)
        key = self._selector.get_key(peer.channel)
        self._selector.modify(peer.channel, events, key.data)

    def _disconnect(self, peer: Peer) -> None:
        if self._peers.pop(peer.channel.fileno(), None) is not None:
            self._selector.unregister(peer.channel)
            peer.channel.close()
            self._gone(peer)
