"""A host: sessions by instance, given by the keeper, asked for by the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from agent_pty import build, log
from agent_pty.core.layout import Layout
from agent_pty.errors import AgentPtyError, Busy, Internal, SpawnFailed, UnknownSession
from agent_pty.host import message, principal, request
from agent_pty.host.events import Numbered, encoded
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.evidence.sync import Syncing
from agent_pty.host.message import Addressed, AddressedStream, AnyControl, PastEvents
from agent_pty.host.request import Opened
from agent_pty.host.session import Session
from agent_pty.host.terminal import tty
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.keeper.channel import ChannelClosed
from agent_pty.keeper.link import KeeperLink
from agent_pty.keeper.message import Adopt, Custody, Ended, KeeperEvent
from agent_pty.ops.model import Described, Ending, HostReport, Killed, Process, Spec
from agent_pty.ops.op import failure
from agent_pty.process import tree
from agent_pty.store import atomic
from agent_pty.store.aside import set_aside
from agent_pty.store.journal import Journal
from agent_pty.store.ledger import Ledger, Present
from agent_pty.store.ring import RingLost

_TEXT_KEPT = 256 * 1024 * 1024


class Host:
    """Many sessions in one event loop."""

    def __init__(self, layout: Layout, name: str) -> None:
        self.name = name
        self.leaving = asyncio.Event()
        self._layout = layout
        self._sessions: dict[str, Session] = {}
        self._ledgers: dict[str, Ledger] = {}
        self._opened: dict[str, asyncio.Future[None]] = {}
        self._watcher: Callable[[bytes], None] | None = None
        self._syncing = Syncing()
        self._keeper = self._new_link()
        self._controls: dict[type[AnyControl], Callable[[Any], Awaitable[Any]]] = {
            message.AwaitOpened: self._await_opened,
            message.Describe: self._describe,
            message.CountMembers: self._count_members,
            message.Kill: self._kill,
            message.KillAll: self._kill_all,
            message.Forget: self._forget,
            message.Rename: self._rename,
            message.GiveCustody: self._give_custody,
            message.Watch: self._watched,
            message.EventsSince: self._events_since,
            message.Leave: self._leave,
        }

    # -- the keeper

    def _new_link(self) -> KeeperLink:
        return KeeperLink(on_event=self._keeper_event, on_lost=self._keeper_lost)

    async def connect(self) -> None:
        """Introduce this host to the keeper, which gives it its sessions."""
        path = self._layout.keeper_socket
        found = await self._keeper.connect(path, role="host", name=self.name)
        for session in self._sessions.values():
            session.terminal.keeper_found(found.pid)

    def _keeper_event(self, event: KeeperEvent, fds: tuple[int, ...]) -> None:
        if isinstance(event, Adopt):
            self._adopt(event, fds)
        elif isinstance(event, Ended) and event.instance in self._sessions:
            self._sessions[event.instance].terminal.end(Ending(**event.ended.to_wire()))

    def _keeper_lost(self) -> None:
        """Exit codes of what ends from now on are unknown; the daemon finds a new keeper."""
        for session in self._sessions.values():
            session.terminal.keeper_lost()

    def _adopt(self, adopt: Adopt, fds: tuple[int, ...]) -> None:
        opened = self._opening(adopt.instance)
        try:
            self._open(adopt, fds)
        except Exception as error:  # noqa: BLE001  one session's files must not end the others
            if not opened.done():
                opened.set_exception(_spawn_error(error))
                opened.exception()  # perhaps nobody waits for it
        else:
            if not opened.done():
                opened.set_result(None)

    def _open(self, adopt: Adopt, fds: tuple[int, ...]) -> None:
        """Open a session; if that fails, nothing of it stays open: its master is closed once."""
        if not fds:  # the kernel drops a descriptor for which there is no free number
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        master = fds[0]
        spec = msgspec.convert(adopt.spec, Spec)
        directory = self._layout.session(spec.instance)
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, master)
            output, owed, recovered = self._output(directory, spec)
            undo.callback(output.close)
            self._save_first_spec(spec, recovered=recovered)
            session = self._session(adopt, spec, master, output)
            undo.pop_all()  # the session closes both
            undo.callback(session.close)
            ledger = Ledger(f"{directory}/keys.jsonl", recall=request.recall(session))
            session.start(owed=owed, recovered=recovered)
            undo.pop_all()
        self._ledgers[spec.instance] = ledger
        self._sessions[spec.instance] = session
        if adopt.ended is not None:
            session.terminal.end(Ending(**adopt.ended.to_wire()))

    def _session(self, adopt: Adopt, spec: Spec, master: int, output: TerminalOutput) -> Session:
        root = tree.Root(
            pid=adopt.pid,
            birth=adopt.birth,
            instance=spec.instance,
            terminal=tty.name(master),
            keeper=adopt.keeper,
        )
        journal = Journal(self._layout.log_dir, name=spec.name, instance=spec.instance)
        return Session(
            spec,
            master=master,
            root=root,
            output=output,
            recorder=Recorder(journal, spec, adopt.pid, self._syncing.wrote),
            perform=self._perform,
            watcher=self._forward,
        )

    def _output(self, directory: str, spec: Spec) -> tuple[TerminalOutput, bytes, bool]:
        """Return the session's output, the replies still owed, and whether it was there before."""
        size: dict[str, Any] = {
            "rows": spec.rows,
            "cols": spec.cols,
            "keep": _TEXT_KEPT,
            "nonce": spec.nonce,
        }
        if os.path.exists(f"{directory}/raw"):
            try:
                return (*TerminalOutput.recover(directory, **size), True)
            except (RingLost, ValueError) as error:
                aside = set_aside(directory, self._layout.aside)
                log.line(
                    f"{self.name}: {spec.name} starts with an empty screen: {error}; "
                    f"its files are kept in {aside}"
                )
        os.makedirs(directory, mode=0o700, exist_ok=True)
        return TerminalOutput.create(directory, **size), b"", False

    def _save_first_spec(self, spec: Spec, *, recovered: bool) -> None:
        """Save the spec of a session; one that is *recovered* lives on with the file it has."""
        try:
            self._save_spec(spec)
        except OSError as error:
            if not recovered:
                raise
            log.line(f"{self.name}: {spec.name}: its size is not saved: {error}")

    def _save_spec(self, spec: Spec) -> None:
        """A later daemon may find the keeper with a terminal and no host that knows it."""
        path = self._layout.spec(spec.instance)
        atomic.replace(path, msgspec.json.encode(spec), durable=False)

    def _opening(self, instance: str) -> asyncio.Future[None]:
        if instance not in self._opened:
            self._opened[instance] = asyncio.get_running_loop().create_future()
        return self._opened[instance]

    # -- requests of clients

    def watch(self, watcher: Callable[[bytes], None] | None) -> None:
        """Send events there from now on, or nowhere."""
        self._watcher = watcher

    def _forward(self, session: Session, numbered: Numbered) -> None:
        if self._watcher is not None:
            spec = session.spec
            event = encoded(numbered, name=spec.name, instance=spec.instance)
            self._watcher(msgspec.json.encode(event))

    def open(self, asked: AddressedStream, payload: bytes) -> Opened:
        """Open a stream of a session."""
        session = self._sessions.get(asked.instance)
        if session is None:
            return Opened(head=failure(UnknownSession(asked.name)))
        principal.acting.set(asked.caller.acting_as("human"))
        return request.open_stream(session, payload)

    async def answer(self, asked: Addressed, payload: bytes, present: Present) -> bytes:
        """Answer one request for a session; *present* says whether its caller still waits."""
        session = self._sessions.get(asked.instance)
        if session is None:
            return failure(UnknownSession(asked.name))
        principal.acting.set(asked.caller.acting_as("agent"))
        ledger = self._ledgers[session.spec.instance]
        return await request.answer(session, ledger, payload, present=present)

    async def _perform(self, session: Session, payload: bytes) -> bytes:
        return await request.answer(session, self._ledgers[session.spec.instance], payload)

    # -- questions of the daemon

    async def control(self, asked: AnyControl) -> bytes:
        """Answer a question about this host or its sessions."""
        try:
            answer = await self._controls[type(asked)](asked)
            return msgspec.json.encode({"ok": True, "data": answer})
        except Exception as error:  # noqa: BLE001  answered, and the log has the traceback
            return failure(error)

    async def _await_opened(self, asked: message.AwaitOpened) -> Described:
        await asyncio.shield(self._opening(asked.instance))
        return self._find(asked.instance).describe()

    async def _describe(self, _asked: message.Describe) -> HostReport:
        sessions = [session.describe() for session in self._sessions.values()]
        return HostReport(pid=os.getpid(), build=build.digest(), sessions=sessions)

    async def _count_members(self, asked: message.CountMembers) -> int:
        return len(tree.members([self._find(asked.instance).terminal.root]))

    async def _kill(self, asked: message.Kill) -> Killed:
        return await self._find(asked.instance).terminal.kill()

    async def _kill_all(self, _asked: message.KillAll) -> list[Process]:
        """End every tree at once: one reading of the process table serves all."""
        roots = [session.terminal.root for session in self._sessions.values()]
        return (await tree.kill_trees(roots)).survivors

    async def _forget(self, asked: message.Forget) -> None:
        found = self._sessions.pop(asked.instance, None)
        self._opened.pop(asked.instance, None)
        self._ledgers.pop(asked.instance, None)
        if found is not None:
            found.close()
        shutil.rmtree(self._layout.session(asked.instance), ignore_errors=True)

    async def _rename(self, asked: message.Rename) -> None:
        session = self._find(asked.instance)
        # Saved first: if there is no room for that, the session keeps its name.
        self._save_spec(msgspec.structs.replace(session.spec, name=asked.name))
        session.rename(asked.name)

    async def _give_custody(self, _asked: message.GiveCustody) -> int:
        if not self._keeper.connected:
            self._keeper = self._new_link()
            await self.connect()
        for instance, session in self._sessions.items():
            await self._keeper.ask(_custody(instance, session), [session.terminal.master])
        return len(self._sessions)

    async def _watched(self, _asked: message.Watch) -> None:
        """The connection that asked has done it: events go there."""

    async def _events_since(self, asked: message.EventsSince) -> PastEvents:
        session = self._find(asked.instance)
        found, missed = session.events.since(asked.number)
        name, instance = session.spec.name, session.spec.instance
        return PastEvents(
            events=[encoded(one, name=name, instance=instance) for one in found], missed=missed
        )

    async def _leave(self, _asked: message.Leave) -> None:
        self.leaving.set()

    def _find(self, instance: str) -> Session:
        if instance not in self._sessions:
            raise UnknownSession(instance)
        return self._sessions[instance]

    def close(self) -> None:
        """Leave every terminal to the keeper."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        self._keeper.close()


def _custody(instance: str, session: Session) -> Custody:
    terminal = session.terminal
    return Custody(
        instance=instance,
        pid=terminal.root.pid,
        birth=terminal.root.birth,
        host_pid=os.getpid(),
        ended=msgspec.to_builtins(terminal.ended),
    )


def _spawn_error(error: Exception) -> AgentPtyError:
    if isinstance(error, AgentPtyError):
        return error
    if isinstance(error, ChannelClosed):
        return SpawnFailed("the keeper went away")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return Busy(f"open a session: {error.strerror}: end a session or raise the limit")
    if isinstance(error, OSError):
        return SpawnFailed(f"cannot keep the session's files: {error.strerror}")
    log.error(error)
    return Internal("the session could not be opened; the daemon's log has the traceback")
