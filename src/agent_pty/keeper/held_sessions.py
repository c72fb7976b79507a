"""The sessions that the keeper holds: master, spool, guard and program of each, and its host.

Rule of this file: nothing is decided here. The daemon says to which host a session is handed and
when it is released.
"""

from __future__ import annotations

import contextlib
import os
import selectors
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_pty.keeper.birth import birth
from agent_pty.keeper.message import (
    Adopt,
    Custody,
    Ended,
    ExecAnswered,
    ExecAsked,
    Exit,
    Hand,
    HeldSession,
    Hold,
    NoteEnd,
    Release,
    Spawned,
)
from agent_pty.keeper.peers import Peer, Peers
from agent_pty.keeper.session_guard import SessionGuard
from agent_pty.keeper.spool import create_spool
from agent_pty.keeper.starts import Starting


@dataclass(slots=True, kw_only=True)
class Held:
    """One session that the keeper holds. *ended* is its exit, once that is known.

    It has no *spool* if a keeper of the previous build began it, until it is handed to a host.
    """

    master: int
    spool: int | None
    pid: int
    birth: float | None
    host: str | None = None
    ended: Exit | None = None
    spec: Any = None
    guard: SessionGuard | None = None

    @property
    def listener(self) -> int | None:
        """Where the kernel asks before execs; None if it does not, or nobody is left."""
        return None if self.guard is None else self.guard.listener

    @property
    def descriptors(self) -> list[int]:
        """What is open for it: the master, after it the spool, after that the listener."""
        return [fd for fd in (self.master, self.spool, self.listener) if fd is not None]

    @property
    def state(self) -> dict[str, Any]:
        """What another build needs to continue, as JSON has it."""
        execs = [] if self.guard is None else [asked.to_wire() for asked in self.guard.open]
        return {
            **self.told.to_wire(),
            "master": self.master,
            "spool": self.spool,
            "listener": self.listener,
            "execs": execs,
            "last_exec": None if self.guard is None else self.guard.last,
        }

    @property
    def told(self) -> HeldSession:
        """What others may know of it."""
        return HeldSession(
            pid=self.pid, birth=self.birth, host=self.host, ended=self.ended, spec=self.spec
        )


class HeldSessions:
    """Sessions by instance, and the instances of the programs whose exits will be reaped."""

    def __init__(self, peers: Peers, selector: selectors.BaseSelector) -> None:
        self._peers = peers
        self._selector = selector
        self._sessions: dict[str, Held] = {}
        self._programs: dict[int, str] = {}
        # Sessions for hosts that have not connected yet.
        self._late: dict[str, list[Hand]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def running(self) -> bool:
        """Whether a program of ours runs."""
        return bool(self._programs)

    @property
    def told(self) -> dict[str, HeldSession]:
        """What others may know of all of them."""
        return {instance: held.told for instance, held in self._sessions.items()}

    # -- upgrade

    @property
    def descriptors(self) -> list[int]:
        """What must stay open when another build takes over."""
        return [fd for held in self._sessions.values() for fd in held.descriptors]

    def state(self) -> dict[str, Any]:
        """Return what another build needs to continue, as JSON has it."""
        sessions = {name: held.state for name, held in self._sessions.items()}
        return {"sessions": sessions, "programs": self._programs}

    def resume(self, state: dict[str, Any]) -> None:
        """Continue with what the previous build held."""
        for instance, one in state["sessions"].items():
            held = vars(HeldSession.from_wire(one))
            spool = one.get("spool")
            self._sessions[instance] = Held(master=one["master"], spool=spool, **held)
            if one.get("listener") is not None:
                self._guard(instance, one["listener"], one["execs"], last=one["last_exec"])
        self._programs = {int(pid): name for pid, name in state["programs"].items()}

    # -- requests

    def hold(self, starting: Starting) -> Spawned:
        """Hold the session of a program that runs; its end may be known already."""
        pid = starting.started.pid
        held = Held(
            master=starting.started.master,
            spool=starting.spool,
            pid=pid,
            birth=birth(pid),
            ended=starting.ended,
            spec=starting.spec,
            guard=starting.guard,
        )
        self._sessions[starting.instance] = held
        if held.ended is None:
            self._programs[pid] = starting.instance
        if starting.guard is not None:
            starting.guard.serve(self._forwarding(held))
        return Spawned(
            pid=pid,
            birth=held.birth,
            guard=held.guard is not None,
            no_new_privs=starting.no_new_privs,
        )

    def hand(self, hand: Hand) -> bool:
        """Give a session to a host, now or when it connects; False if it is not held."""
        held = self._sessions.get(hand.instance)
        if held is None:
            return False
        held.spool = create_spool() if held.spool is None else held.spool
        held.host = hand.host
        host = self._peers.host(hand.host)
        if host is None:
            self._late.setdefault(hand.host, []).append(hand)
        else:
            self._adopt(host, hand)
        return True

    def host_connected(self, host: Peer) -> None:
        """Give a host what was meant for it before it connected."""
        for late in self._late.pop(host.name, []):
            if late.instance in self._sessions:
                self._adopt(host, late)

    def host_ended(self, name: str) -> None:
        """Forget what was meant for a host that will not connect any more."""
        self._late.pop(name, None)

    def _adopt(self, host: Peer, hand: Hand) -> None:
        held = self._sessions[hand.instance]
        adopt = Adopt(
            instance=hand.instance,
            spec=hand.spec,
            pid=held.pid,
            birth=held.birth,
            ended=held.ended,
            keeper=os.getpid(),
            spool=held.spool is not None,
            guard=held.listener is not None,
            last_exec=None if held.guard is None else held.guard.last,
        )
        self._peers.tell(host, adopt, held.descriptors)
        if held.guard is not None:
            held.guard.forward_all()

    def take_custody(self, host: Peer, custody: Custody, fds: Sequence[int]) -> None:
        """Hold a session that a host had from an earlier keeper."""
        if len(fds) != 1 + custody.spool + custody.guard:
            raise ValueError("not all of its descriptors arrived: is the limit of open files low?")
        if custody.instance in self._sessions:
            self._forward_missed(custody.instance)
            return
        master, *others = _duplicates(fds)
        self._sessions[custody.instance] = Held(
            master=master,
            spool=others[0] if custody.spool else None,
            pid=custody.pid,
            birth=custody.birth,
            host=host.name,
            ended=custody.ended,
        )
        if custody.guard:
            last = custody.last_exec
            self._guard(custody.instance, others[-1], custody.execs, last=last)

    def take(self, request: Hold | NoteEnd | Release | ExecAnswered, fds: Sequence[int]) -> None:
        """Take note of something about one session."""
        match request:
            case Hold():
                self._hold_foreign(request, fds)
            case NoteEnd():
                self._note_end(request)
            case Release():
                self._release(request.instance)
            case ExecAnswered():
                self._exec_answered(request)

    def _exec_answered(self, answered: ExecAnswered) -> None:
        """Forget an exec that the session's host has answered."""
        held = self._sessions.get(answered.instance)
        if held is not None and held.guard is not None:
            held.guard.answered(answered.id)

    def _hold_foreign(self, hold: Hold, fds: Sequence[int]) -> None:
        """Hold the terminal of a program that is no child of ours."""
        (master,) = fds
        held = self._sessions.get(hold.instance)
        if held is not None and hold.replaces:
            old, held.master = held.master, os.dup(master)
            os.close(old)
        elif held is None and not hold.replaces:
            self._sessions[hold.instance] = Held(
                master=os.dup(master),
                spool=create_spool(),
                pid=hold.pid,
                birth=hold.birth,
                spec=hold.spec,
            )

    def _note_end(self, note: NoteEnd) -> None:
        """Note and report the end of such a program."""
        held = self._sessions.get(note.instance)
        if held is not None and held.ended is None:
            held.ended = note.ended
            self.report_end(note.instance)

    def _release(self, instance: str) -> None:
        """Close what is held of a session; its guard stays as long as processes need it."""
        held = self._sessions.pop(instance, None)
        if held is not None:
            for fd in (held.master, held.spool):
                if fd is not None:
                    os.close(fd)
            self._programs.pop(held.pid, None)
            if held.guard is not None:
                held.guard.refuse_everything()

    # -- the guard

    def _guard(
        self,
        instance: str,
        listener: int,
        execs: Sequence[Mapping[str, Any]],
        *,
        last: int | None,
    ) -> None:
        """Go on with the listener of a session that was guarded before."""
        held = self._sessions[instance]
        held.guard = SessionGuard(instance, listener, self._selector)
        held.guard.serve(self._forwarding(held), [ExecAsked.from_wire(one) for one in execs])
        held.guard.fail_lost(last)

    def _forwarding(self, held: Held) -> Callable[[ExecAsked], None]:
        """Return what gives a question to the host that has the session then, if one does."""

        def forward(asked: ExecAsked) -> None:
            host = self._peers.host(held.host)
            if host is not None:
                self._peers.tell(host, asked)

        return forward

    def _forward_missed(self, instance: str) -> None:
        """Give a host again what may have come while it was not connected."""
        guard = self._sessions[instance].guard
        if guard is not None:
            guard.forward_all()

    # -- the end of programs

    def program_ended(self, pid: int, ended: Exit) -> bool:
        """Note and report the end of a session's program; False if the child was none."""
        instance = self._programs.pop(pid, None)
        if instance is None:
            return False
        self._sessions[instance].ended = ended
        self.report_end(instance)
        return True

    def report_end(self, instance: str) -> None:
        """Tell its host and the daemons how a session's program ended, if it has."""
        held = self._sessions[instance]
        if held.ended is None:
            return
        event = Ended(instance=instance, ended=held.ended)
        host = self._peers.host(held.host)
        if host is not None:
            self._peers.tell(host, event)
        self._peers.tell_daemons(event)


def _duplicates(fds: Sequence[int]) -> list[int]:
    """Duplicate all of them or, if there is no room for that, none."""
    with contextlib.ExitStack() as undo:
        made: list[int] = []
        for fd in fds:
            made.append(os.dup(fd))
            undo.callback(os.close, made[-1])
        undo.pop_all()
    return made
