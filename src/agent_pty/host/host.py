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
from agent_pty.core.config import Config
from agent_pty.core.layout import Layout
from agent_pty.errors import (
    AgentPtyError,
    BadConfig,
    Busy,
    EvidenceUnavailable,
    Internal,
    SpawnFailed,
    UnknownSession,
)
from agent_pty.host import message, principal, request
from agent_pty.host.custody import custody_of
from agent_pty.host.events import Numbered, encoded
from agent_pty.host.evidence.cleaning import Cleaner, secrets_of
from agent_pty.host.evidence.controls import EvidenceControls
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.evidence.session_evidence import SessionEvidence
from agent_pty.host.evidence.sync import Syncing
from agent_pty.host.evidence.tree_looks import TreeLooks
from agent_pty.host.gate.controls import GateControls
from agent_pty.host.gate.policy_in_force import PolicyInForce
from agent_pty.host.gate.session_gate import Rules
from agent_pty.host.guard.opened_guard import opened_guard
from agent_pty.host.message import Addressed, AddressedStream, AnyControl
from agent_pty.host.opening import device_of, recording_of
from agent_pty.host.request import Opened
from agent_pty.host.session import Session, Sessions
from agent_pty.host.terminal import tty
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.terminal.output_start import start_output
from agent_pty.keeper.channel import ChannelClosed
from agent_pty.keeper.link import KeeperLink
from agent_pty.keeper.message import Adopt, Ended, ExecAnswered, ExecAsked, KeeperEvent
from agent_pty.ops.model import Described, Ending, HostReport, Killed, Process, Spec
from agent_pty.ops.op import failure
from agent_pty.process import tree
from agent_pty.store import atomic, config
from agent_pty.store.journal import Journal
from agent_pty.store.ledger import Ledger, Present


class Host:
    """Many sessions in one event loop."""

    def __init__(self, layout: Layout, name: str) -> None:
        self.name = name
        self.leaving = asyncio.Event()
        self._layout = layout
        self._sessions = Sessions()
        self._ledgers: dict[str, Ledger] = {}
        self._opened: dict[str, asyncio.Future[None]] = {}
        self._watcher: Callable[[bytes], None] | None = None
        self._syncing = Syncing()
        self._looks = TreeLooks(layout.looks)
        self._config = self._settings()
        self._in_force = PolicyInForce()
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
            message.NoteRelease: self._note_release,
            message.AskExports: self._ask_exports,
            message.Watch: self._watched,
            message.Leave: self._leave,
            **EvidenceControls(layout, self._sessions).handlers,
            **GateControls(self._sessions, self._in_force).handlers,
        }

    def _settings(self) -> Config:
        """Return the settings; with a mistake in the file, the defaults."""
        try:
            return config.load(self._layout)
        except BadConfig as error:
            log.line(f"{self.name}: the defaults count: {error}")
            return Config()

    # -- the keeper

    def _new_link(self) -> KeeperLink:
        return KeeperLink(on_event=self._keeper_event, on_lost=self._keeper_lost)

    async def connect(self) -> None:
        """Introduce this host to the keeper, which gives it its sessions."""
        path = self._layout.keeper_socket
        found = await self._keeper.connect(path, role="host", name=self.name)
        for session in self._sessions.values():
            session.terminal.keeper_changed(found.pid)

    def _keeper_event(self, event: KeeperEvent, fds: tuple[int, ...]) -> None:
        if isinstance(event, Adopt):
            self._adopt(event, fds)
        elif isinstance(event, ExecAsked):
            session = self._sessions.get(event.instance)
            if session is not None and session.guard is not None:
                session.guard.asked(event)
        elif isinstance(event, Ended) and event.instance in self._sessions:
            self._sessions[event.instance].terminal.end(Ending(**event.ended.to_wire()))

    def _keeper_lost(self) -> None:
        """Exit codes of what ends from now on are unknown; the daemon finds a new keeper."""
        for session in self._sessions.values():
            session.terminal.keeper_changed(None)

    def _adopt(self, adopt: Adopt, fds: tuple[int, ...]) -> None:
        opened = self._opening(adopt.instance)
        try:
            self._take(adopt, fds)
        except Exception as error:  # noqa: BLE001  one session's files must not end the others
            if not opened.done():
                opened.set_exception(_spawn_error(error))
                opened.exception()  # perhaps nobody waits for it
        else:
            if not opened.done():
                opened.set_result(None)

    def _take(self, adopt: Adopt, fds: tuple[int, ...]) -> None:
        """Open a session with the descriptors that came; of the spool its ring has a duplicate."""
        if len(fds) < 1 + adopt.spool + adopt.guard:
            for fd in fds:
                os.close(fd)
            # The kernel drops a descriptor for which there is no free number.
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        try:
            self._open(adopt, fds[0], fds[1] if adopt.spool else None)
            if adopt.guard:
                session = self._sessions[adopt.instance]
                listener, last = os.dup(fds[-1]), adopt.last_exec
                session.be_guarded(opened_guard(session, listener, self._tell_keeper, last=last))
        finally:
            for fd in fds[1:]:
                os.close(fd)

    def _open(self, adopt: Adopt, master: int, spool: int | None) -> None:
        """Open a session; if that fails, nothing of it stays open: its master is closed once."""
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, master)
            spec = msgspec.convert(adopt.spec, Spec)
            start = start_output(self._layout, spec, spool)
            undo.callback(start.output.close)
            self._save_first_spec(spec, recovered=start.recovered)
            session = self._session(adopt, spec, master, start.output)
            undo.pop_all()  # the session closes both
            undo.callback(session.close)
            path = f"{self._layout.session(spec.instance)}/keys.jsonl"
            ledger = Ledger(path, recall=request.recall(session))
            # tmux has answered the questions of the program in its panes.
            owed = start.owed if spec.tmux is None else b""
            session.start(owed=owed, recovered=start.recovered)
            undo.pop_all()
        self._ledgers[spec.instance] = ledger
        self._sessions[spec.instance] = session
        if adopt.ended is not None:
            session.terminal.end(Ending(**adopt.ended.to_wire()))

    def _tell_keeper(self, request: ExecAnswered) -> None:
        self._keeper.tell(request)

    def _session(self, adopt: Adopt, spec: Spec, master: int, output: TerminalOutput) -> Session:
        root = tree.Root(
            pid=adopt.pid,
            birth=adopt.birth,
            instance=spec.instance,
            terminal=tty.name(master) if spec.tmux is None else spec.tmux.tty,
            keeper=adopt.keeper,
        )
        journal = Journal(self._layout.log_dir, name=spec.name, instance=spec.instance)
        cleaner = Cleaner(secrets_of(adopt.pid))
        required = self._config.evidence.required
        recorder = Recorder(journal, spec, cleaner, self._syncing.wrote, output, required=required)
        return Session(
            spec,
            device=device_of(
                self._layout, spec, master, pid=adopt.pid, keeper=lambda: self._keeper
            ),
            root=root,
            output=output,
            evidence=SessionEvidence(
                recorder=recorder,
                recording=recording_of(
                    self._layout,
                    self._config.recording,
                    spec,
                    output,
                    recorder=recorder,
                    cleaner=cleaner,
                ),
                looks=self._looks,
            ),
            perform=self._perform,
            watcher=self._forward,
            rules=Rules(
                in_force=self._in_force,
                approvals=f"{self._layout.session(spec.instance)}/approvals.json",
            ),
        )

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
        before = session.journal.sequence
        answer = await request.answer(session, ledger, payload, present=present)
        wrote = session.journal.sequence != before
        if wrote and self._config.evidence.sync == "always":
            return await self._synced(session.journal) or answer
        return answer

    async def _synced(self, journal: Journal) -> bytes | None:
        """Return once the disk has what was written; an error if it does not take it."""
        if await self._syncing.wait(journal):
            return None
        return failure(
            EvidenceUnavailable(
                f"{journal.path}: {journal.problem}; what was asked for may have been done, and "
                "its record may not survive the machine: look at the disk",
                path=journal.path,
                delivery="unknown",
            )
        )

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
        return self._sessions.find(asked.instance).describe()

    async def _describe(self, _asked: message.Describe) -> HostReport:
        sessions = [session.describe() for session in self._sessions.values()]
        return HostReport(
            pid=os.getpid(),
            build=build.digest(),
            sessions=sessions,
            sync_lag_ms=self._syncing.lag_ms,
        )

    async def _count_members(self, asked: message.CountMembers) -> int:
        return len(tree.members([self._sessions.find(asked.instance).terminal.root]))

    async def _kill(self, asked: message.Kill) -> Killed:
        session = self._sessions.find(asked.instance)
        killed = await session.terminal.kill()
        await session.finish_evidence()
        return killed

    async def _kill_all(self, _asked: message.KillAll) -> list[Process]:
        """End every tree at once: one reading of the process table serves all."""
        for session in self._sessions.values():
            if session.guard is not None:
                session.guard.refuse_held()
        ours = [one for one in self._sessions.values() if one.spec.tmux is None]
        roots = [session.terminal.root for session in ours]
        survivors = (await tree.kill_trees(roots)).survivors
        await asyncio.gather(*(one.finish_evidence() for one in self._sessions.values()))
        return survivors

    async def _forget(self, asked: message.Forget) -> None:
        found = self._sessions.pop(asked.instance, None)
        self._opened.pop(asked.instance, None)
        self._ledgers.pop(asked.instance, None)
        if found is not None:
            found.close()
        shutil.rmtree(self._layout.session(asked.instance), ignore_errors=True)

    async def _rename(self, asked: message.Rename) -> None:
        session = self._sessions.find(asked.instance)
        # Saved first: if there is no room for that, the session keeps its name.
        self._save_spec(msgspec.structs.replace(session.spec, name=asked.name))
        session.rename(asked.name)

    async def _give_custody(self, _asked: message.GiveCustody) -> int:
        if not self._keeper.connected:
            self._keeper = self._new_link()
            await self.connect()
        for instance, session in self._sessions.items():
            await self._keeper.ask(*custody_of(instance, session))
        return len(self._sessions)

    async def _note_release(self, asked: message.NoteRelease) -> None:
        self._sessions.find(asked.instance).note_release()

    async def _ask_exports(self, asked: message.AskExports) -> list[bytes] | None:
        return await self._sessions.find(asked.instance).exports()

    async def _watched(self, _asked: message.Watch) -> None:
        """The connection that asked has done it: events go there."""

    async def _leave(self, _asked: message.Leave) -> None:
        self.leaving.set()

    def close(self) -> None:
        """Leave every terminal to the keeper."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        self._keeper.close()


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
