"""The select loop: requests in, forks and descriptors out.

Rule of this file: nothing blocks, and nothing is decided here. The daemon decides to which host a
session belongs, what the end of a host means and when a master is closed.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any

from agent_pty import __version__, build, log
from agent_pty.core.layout import Layout
from agent_pty.keeper import upgrade, warm
from agent_pty.keeper.channel import Message
from agent_pty.keeper.daemons import Daemons
from agent_pty.keeper.gateway import Gateway
from agent_pty.keeper.held_sessions import HeldSessions
from agent_pty.keeper.listen import listen
from agent_pty.keeper.message import (
    REQUESTS,
    Custody,
    Done,
    ExecAnswered,
    Exit,
    Fork,
    Forked,
    Hand,
    Hello,
    Hold,
    Holdings,
    HostEnded,
    KeeperRequest,
    Leaving,
    Listening,
    NoteEnd,
    Release,
    Spawn,
    Stop,
    Upgrade,
    Wire,
)
from agent_pty.keeper.peers import Peer, Peers
from agent_pty.keeper.program import failure
from agent_pty.keeper.starts import Starting, Starts


class Keeper:
    """Holds the masters of all sessions and the exits of all programs.

    *lock* is the descriptor of the home's lock, which must stay open as long as the keeper runs.
    """

    def __init__(self, layout: Layout, listener: socket.socket, *, lock: int) -> None:
        self._layout = layout
        self._lock = lock
        self._selector = selectors.DefaultSelector()
        self._peers = Peers(listener, self._selector, self._handle, gone=self._peer_gone)
        self._daemons = Daemons(layout, self._selector, self._peers, self)
        self._gateway = Gateway(layout, self._peers, self)
        self._held = HeldSessions(self._peers, self._selector)
        self._hosts: dict[str, int] = {}
        self._starts = Starts(self._selector)
        # Daemons that will be answered when no program is being started.
        self._hellos: list[Callable[[Wire], None]] = []
        self._stopped = False
        self._wake_read, self._wake_write = socket.socketpair()

    @classmethod
    def resume(cls, layout: Layout, state: dict[str, Any]) -> Keeper:
        """Continue with what the previous build held."""
        listener = socket.socket(fileno=state["listener"])
        keeper = cls(layout, listener, lock=state["lock"])
        keeper._held.resume(state)
        keeper._daemons.resume(state.get("daemon_socket"))
        keeper._hosts = state["hosts"]
        keeper._gateway.resume(state.get("gateway"))
        return keeper

    def start_daemon(self, ready: int) -> None:
        """Fork the first daemon, which reports on *ready*."""
        self._daemons.fork(ready)

    def run(self) -> None:
        """Serve until a `Stop` request comes, or until there is nothing to hold for anybody."""
        for sock in (self._wake_read, self._wake_write):
            sock.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_write.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, self._reap)
        self._reap(0)  # children that ended during an upgrade
        while not self._stopped:
            for key, events in self._selector.select(self._patience):
                key.data(events)
            self._starts.abandon_late()
            self._answer_hellos()
            self._daemons.socket.start_late()

    @property
    def _needed(self) -> bool:
        """False after a daemon could not start: the next client begins anew."""
        some = len(self._held) or self._hosts or self._gateway.pid or self._peers.some
        return bool(self._daemons.wanted or some)

    @property
    def _patience(self) -> float | None:
        timed = (self._starts.patience, self._daemons.socket.patience)
        return min((one for one in timed if one is not None), default=None)

    # -- requests

    def _handle(self, peer: Peer, message: Message) -> None:
        body = message.body

        def reply(answer: Wire) -> None:
            if "seq" in body:  # without a number nobody waits for it
                self._peers.post(peer, {"re": body["seq"], **answer.to_wire()})

        def fail(why: dict[str, Any]) -> None:
            self._peers.post(peer, {"re": body.get("seq"), "error": why})

        try:
            request = REQUESTS[body["do"]].from_wire(body)
            self._act(peer, request, message.fds, reply, fail)
        except (KeyError, TypeError, ValueError, OSError, struct.error) as error:
            fail(failure("keeper", error))
        finally:
            for fd in message.fds:
                os.close(fd)

    def _act(
        self,
        peer: Peer,
        request: KeeperRequest[Any],
        fds: Sequence[int],
        reply: Callable[[Wire], None],
        fail: Callable[[dict[str, Any]], None],
    ) -> None:
        match request:
            case Hello():
                self._hello(peer, request, reply)
            case Fork():
                reply(self._fork(request, fds))
            case Listening() | Leaving():
                self._daemons.take(request, fds)
                reply(Done())
            case Spawn():
                self._spawn(request, reply, fail)
            case Hand():
                self._hand(request, reply, fail)
            case Custody():
                self._held.take_custody(peer, request, fds)
                self._hosts.setdefault(peer.name, request.host_pid)
                reply(Done())
            case Hold() | NoteEnd() | Release() | ExecAnswered():
                self._held.take(request, fds)
                reply(Done())
            case Upgrade():
                self._upgrade(request)
            case Stop():
                reply(Done())
                self._stopped = True

    def _hello(self, peer: Peer, hello: Hello, reply: Callable[[Wire], None]) -> None:
        peer.introduce(hello.role, hello.name)
        # A program that a dead daemon has started belongs to what the next one must know.
        if hello.role == "daemon" and len(self._starts):
            self._hellos.append(reply)
        else:
            self._tell_holdings(reply)
        if peer.role == "gateway":
            self._gateway.connected(peer)
        if peer.role == "host":
            self._held.host_connected(peer)

    def _answer_hellos(self) -> None:
        """Answer the daemons that came while programs were being started."""
        if self._hellos and not len(self._starts):
            hellos, self._hellos = self._hellos, []
            for reply in hellos:
                self._tell_holdings(reply)

    def _tell_holdings(self, reply: Callable[[Wire], None]) -> None:
        reply(
            Holdings(
                pid=os.getpid(),
                version=__version__,
                build=build.digest(),
                hosts=self._hosts,
                sessions=self._held.told,
                gateway=self._gateway.pid,
            )
        )

    def _fork(self, fork: Fork, fds: Sequence[int]) -> Forked:
        arguments: dict[str, Any] = {"layout": self._layout.to_wire(), "name": fork.name}
        if fork.role != "host":
            (fd,) = fds
            fork_it = self._gateway.fork if fork.role == "gateway" else self._daemons.fork
            return Forked(pid=fork_it(fd))
        # Bound before the fork, so that the caller can connect as soon as it has the reply.
        with listen(self._layout.host_socket(fork.name)) as listener:
            arguments["listener"] = listener.fileno()
            pid = warm.fork(
                "host",
                arguments,
                keep_alive=[self, listener],
                keep_open=[listener.fileno()],
            )
        self._hosts[fork.name] = pid
        return Forked(pid=pid)

    def _peer_gone(self, peer: Peer) -> None:
        if peer.role == "daemon":
            self._daemons.gone(sessions=self._held.running)
        elif peer.role == "gateway":
            self._gateway.gone()

    def _spawn(
        self,
        spawn: Spawn,
        reply: Callable[[Wire], None],
        fail: Callable[[dict[str, Any]], None],
    ) -> None:
        def runs(starting: Starting) -> None:
            reply(self._held.hold(starting))
            self._held.report_end(starting.instance)

        self._starts.begin(spawn, runs=runs, fails=fail)

    def _hand(
        self,
        hand: Hand,
        reply: Callable[[Wire], None],
        fail: Callable[[dict[str, Any]], None],
    ) -> None:
        if self._held.hand(hand):
            reply(Done())
        else:
            reason = "this keeper does not hold the terminal"
            fail({"stage": "hand", "reason": reason, "errno": None})

    def _upgrade(self, wanted: Upgrade) -> None:
        """Run another build in this process; the connection closes when that has happened."""
        if len(self._starts):
            raise ValueError("a program is just being started: ask again")
        listener = self._peers.listener.fileno()
        fds = [listener, self._lock, *self._held.descriptors]
        socket = self._daemons.socket.fd
        fds += [] if socket is None else [socket]
        state = {
            "listener": listener,
            "lock": self._lock,
            "daemon_socket": socket,
            **self._held.state(),
            "hosts": self._hosts,
            "gateway": self._gateway.pid,
        }
        upgrade.become(wanted.command, self._layout, state, fds)

    # -- children

    def _reap(self, _events: int) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wake_read.recv(4096):
                pass
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                self._child_ended(pid, os.waitstatus_to_exitcode(status))

    def _child_ended(self, pid: int, code: int) -> None:
        ended = Exit(code=code if code >= 0 else None, signal=-code if code < 0 else None)
        if self._held.program_ended(pid, ended):
            return
        self._starts.ended(pid, ended)
        if pid == self._gateway.pid:
            self._gateway.gone()
        if self._daemons.child_ended(pid, sessions=self._held.running):
            self._stopped = self._stopped or not self._needed
        for name in [name for name, host in self._hosts.items() if host == pid]:
            self._host_ended(name, ended)

    def _host_ended(self, name: str, ended: Exit) -> None:
        del self._hosts[name]
        self._held.host_ended(name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._layout.host_socket(name))
        log.line(f"keeper: host {name} ended: {ended}")
        event = HostEnded(host=name, code=ended.code, signal=ended.signal)
        self._peers.tell_daemons(event)
