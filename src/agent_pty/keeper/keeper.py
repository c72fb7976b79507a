"""The select loop: requests in, forks and descriptors out.

Rule of this file: nothing blocks and nothing is decided. Which host a session belongs
to, what a dead host means and when a master is let go are the daemon's to say.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_pty import __version__
from agent_pty.core.frame import Garbage
from agent_pty.core.layout import Layout
from agent_pty.keeper import warm
from agent_pty.keeper.birth import birth
from agent_pty.keeper.channel import Channel, ChannelClosed, Message
from agent_pty.keeper.listen import is_ours, listen
from agent_pty.keeper.program import Program, Started, failure, start

# A program that has not reached its exec by then hangs in chdir or on its file.
_START_SECONDS = 5.0
# A peer that leaves this many messages unread is not coming back.
_MOST_UNSENT = 10_000


@dataclass(slots=True, kw_only=True)
class Held:
    """One session in custody. *ended* is its exit status once it is known."""

    master: int
    pid: int
    birth: float | None
    ours: bool
    host: str | None = None
    ended: dict[str, int | None] | None = None


@dataclass(slots=True, kw_only=True)
class Starting:
    """A forked program that has not yet reached its exec."""

    started: Started
    session: str
    reply: Callable[..., None]
    deadline: float
    ended: dict[str, int | None] | None = None


@dataclass(slots=True)
class Peer:
    """A connection and who is at its other end."""

    channel: Channel
    role: str = ""
    name: str = ""
    waiting: bool = field(default=False)


class Keeper:
    """Holds the masters of all sessions and the exit status of all programs."""

    def __init__(self, layout: Layout, listener: socket.socket) -> None:
        self._layout = layout
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._peers: dict[int, Peer] = {}
        self._sessions: dict[str, Held] = {}
        self._programs: dict[int, str] = {}
        self._hosts: dict[str, int] = {}
        self._starting: dict[int, Starting] = {}
        self._late: dict[str, list[dict[str, Any]]] = {}
        self._stopped = False
        self._spare = os.open(os.devnull, os.O_RDONLY)
        self._wake_read, self._wake_write = socket.socketpair()
        self._requests: dict[str, Callable[[Peer, dict[str, Any], tuple[int, ...], Any], None]] = {
            "hello": self._hello,
            "fork": self._fork,
            "spawn": self._spawn,
            "hand": self._hand,
            "custody": self._custody,
            "release": self._release,
            "stop": self._stop,
        }

    def run(self) -> None:
        """Serve until told to stop."""
        for sock in (self._wake_read, self._wake_write):
            sock.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_write.fileno(), warn_on_full_buffer=False)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake_read, selectors.EVENT_READ, self._reap)
        while not self._stopped:
            for key, events in self._selector.select(self._patience()):
                key.data(events)
            self._abandon_late_starts()

    def _patience(self) -> float | None:
        deadlines = [starting.deadline for starting in self._starting.values()]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    # -- connections

    def _accept(self, _events: int) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError as error:
            # Without a descriptor to spare the listener stays readable: turn the client away
            # with the one kept for this, instead of spinning.
            if error.errno in {errno.EMFILE, errno.ENFILE}:
                self._turn_away()
            return
        if not is_ours(sock):
            sock.close()
            return
        peer = Peer(Channel(sock))
        self._peers[peer.channel.fileno()] = peer
        self._selector.register(
            peer.channel, selectors.EVENT_READ, lambda events: self._serve(peer, events)
        )

    def _turn_away(self) -> None:
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
            self._part(peer)

    def _handle(self, peer: Peer, message: Message) -> None:
        body, sequence = message.body, message.body.get("seq")

        def reply(**answer: Any) -> None:
            self._post(peer, {"re": sequence, **answer})

        try:
            self._requests[body["do"]](peer, body, message.fds, reply)
        except (KeyError, TypeError, ValueError, OSError, struct.error) as error:
            reply(error=failure("keeper", error))
        finally:
            for fd in message.fds:
                os.close(fd)

    def _post(self, peer: Peer, body: dict[str, Any], fds: list[int] | None = None) -> None:
        try:
            if not peer.channel.post(body, fds or []):
                self._watch(peer, writing=True)
            if peer.channel.unsent > _MOST_UNSENT:
                self._part(peer)
        except ChannelClosed:
            self._part(peer)

    def _watch(self, peer: Peer, *, writing: bool) -> None:
        if peer.waiting == writing or peer.channel.fileno() not in self._peers:
            return
        peer.waiting = writing
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if writing else 0)
        key = self._selector.get_key(peer.channel)
        self._selector.modify(peer.channel, events, key.data)

    def _part(self, peer: Peer) -> None:
        if self._peers.pop(peer.channel.fileno(), None) is not None:
            self._selector.unregister(peer.channel)
        peer.channel.close()

    def _host(self, name: str | None) -> Peer | None:
        for peer in self._peers.values():
            if peer.role == "host" and peer.name == name:
                return peer
        return None

    def _tell_daemons(self, body: dict[str, Any]) -> None:
        for peer in [peer for peer in self._peers.values() if peer.role == "daemon"]:
            self._post(peer, body)

    # -- requests

    def _hello(self, peer: Peer, body: dict[str, Any], _fds: object, reply: Any) -> None:
        peer.role, peer.name = body["role"], body.get("name", "")
        sessions = {
            name: {"pid": held.pid, "birth": held.birth, "host": held.host, "ended": held.ended}
            for name, held in self._sessions.items()
        }
        reply(pid=os.getpid(), version=__version__, hosts=self._hosts, sessions=sessions)
        if peer.role == "host":
            for late in self._late.pop(peer.name, []):
                if late["session"] in self._sessions:
                    self._adopt(peer, late)

    def _fork(self, _peer: Peer, body: dict[str, Any], fds: tuple[int, ...], reply: Any) -> None:
        role, name = body["role"], body.get("name", "")
        arguments = {"layout": self._layout.to_wire(), "name": name}
        if role != "host":
            (ready,) = fds
            reply(pid=warm.fork(role, {**arguments, "ready": ready}, bury=[self], keep=fds))
            return
        # Bound before the fork: whoever gets this reply can connect at once.
        with listen(self._layout.host_socket(name)) as listener:
            arguments["listener"] = listener.fileno()
            pid = warm.fork(role, arguments, bury=[self, listener], keep=[listener.fileno()])
        self._hosts[name] = pid
        reply(pid=pid)

    def _spawn(self, _peer: Peer, body: dict[str, Any], _fds: object, reply: Any) -> None:
        program = Program(
            argv=body["argv"],
            cwd=body["cwd"],
            env=body["env"],
            rows=body["rows"],
            cols=body["cols"],
        )
        started = start(program)
        starting = Starting(
            started=started,
            session=body["session"],
            reply=reply,
            deadline=time.monotonic() + _START_SECONDS,
        )
        self._starting[started.report] = starting
        self._selector.register(
            started.report, selectors.EVENT_READ, lambda _events: self._settle(starting)
        )

    def _settle(self, starting: Starting) -> None:
        report = os.read(starting.started.report, 1 << 16)
        self._forget_start(starting)
        if report:
            self._drop_start(starting, json.loads(report))
            return
        pid = starting.started.pid
        held = Held(
            master=starting.started.master,
            pid=pid,
            birth=birth(pid),
            ours=True,
            ended=starting.ended,
        )
        self._sessions[starting.session] = held
        starting.reply(pid=pid, birth=held.birth)
        if held.ended is None:
            self._programs[pid] = starting.session
        else:
            self._tell_end(starting.session, held)

    def _abandon_late_starts(self) -> None:
        now = time.monotonic()
        for starting in [s for s in self._starting.values() if s.deadline <= now]:
            if starting.ended is None:
                os.kill(starting.started.pid, signal.SIGKILL)  # our own unreaped child
            self._forget_start(starting)
            reason = f"not started within {_START_SECONDS:g} s: is its directory reachable?"
            self._drop_start(starting, {"stage": "cwd", "reason": reason, "errno": None})

    def _forget_start(self, starting: Starting) -> None:
        self._selector.unregister(starting.started.report)
        del self._starting[starting.started.report]
        os.close(starting.started.report)

    def _drop_start(self, starting: Starting, why: dict[str, Any]) -> None:
        os.close(starting.started.master)
        starting.reply(error=why)

    def _hand(self, _peer: Peer, body: dict[str, Any], _fds: object, reply: Any) -> None:
        self._sessions[body["session"]].host = body["host"]
        host = self._host(body["host"])
        if host is None:
            self._late.setdefault(body["host"], []).append(body)
        else:
            self._adopt(host, body)
        reply()

    def _adopt(self, host: Peer, body: dict[str, Any]) -> None:
        held = self._sessions[body["session"]]
        adopt = {
            "event": "adopt",
            "session": body["session"],
            "spec": body["spec"],
            "pid": held.pid,
            "birth": held.birth,
            "ended": held.ended,
            "keeper": os.getpid(),
        }
        self._post(host, adopt, [held.master])

    def _custody(self, peer: Peer, body: dict[str, Any], fds: tuple[int, ...], reply: Any) -> None:
        (master,) = fds
        if body["session"] not in self._sessions:
            self._sessions[body["session"]] = Held(
                master=os.dup(master),
                pid=body["pid"],
                birth=body["birth"],
                ours=False,
                host=peer.name,
                ended=body["ended"],
            )
        self._hosts.setdefault(peer.name, body["host_pid"])
        reply()

    def _release(self, _peer: Peer, body: dict[str, Any], _fds: object, reply: Any) -> None:
        held = self._sessions.pop(body["session"], None)
        if held is not None:
            os.close(held.master)
            self._programs.pop(held.pid, None)
        reply()

    def _stop(self, _peer: Peer, _body: dict[str, Any], _fds: object, reply: Any) -> None:
        reply()
        self._stopped = True

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
                self._ended(pid, os.waitstatus_to_exitcode(status))

    def _ended(self, pid: int, code: int) -> None:
        ended = {"code": code if code >= 0 else None, "signal": -code if code < 0 else None}
        session = self._programs.pop(pid, None)
        if session is not None:
            self._sessions[session].ended = ended
            self._tell_end(session, self._sessions[session])
            return
        # A short program can be reaped before the loop has seen its exec.
        for starting in self._starting.values():
            if starting.started.pid == pid:
                starting.ended = ended
        for name in [name for name, host in self._hosts.items() if host == pid]:
            self._host_ended(name, ended)

    def _host_ended(self, name: str, ended: dict[str, int | None]) -> None:
        del self._hosts[name]
        self._late.pop(name, None)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._layout.host_socket(name))
        sys.stderr.write(f"keeper: host {name} ended: {ended}\n")
        self._tell_daemons({"event": "host_ended", "host": name, **ended})

    def _tell_end(self, name: str, held: Held) -> None:
        event = {"event": "ended", "session": name, "ended": held.ended}
        host = self._host(held.host)
        if host is not None:
            self._post(host, event)
        self._tell_daemons(event)
