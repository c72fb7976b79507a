"""A host: sessions by instance, fed by the keeper, asked by the daemon."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from agent_pty.core.layout import Layout
from agent_pty.errors import AgentPtyError, Internal, SpawnFailed, UnknownSession
from agent_pty.host import principal, request
from agent_pty.host.request import Opened
from agent_pty.host.session import Session
from agent_pty.host.terminal import tty
from agent_pty.host.terminal.output import Stream
from agent_pty.keeper.channel import ChannelClosed, Message
from agent_pty.keeper.link import KeeperLink
from agent_pty.ops.model import Described, Ending, HostReport, Process, Spec
from agent_pty.ops.op import failure
from agent_pty.process import tree
from agent_pty.store import atomic
from agent_pty.store.ledger import Ledger
from agent_pty.store.ring import RingLost

_TEXT_KEPT = 256 * 1024 * 1024


class Host:
    """Many sessions in one event loop."""

    def __init__(self, layout: Layout, name: str) -> None:
        self.name = name
        self.leaving = asyncio.Event()
        self._layout = layout
        self._sessions: dict[str, Session] = {}
        self._opened: dict[str, asyncio.Future[None]] = {}
        self._tell: Callable[[bytes], None] | None = None
        self._link = self._new_link()
        self._controls: dict[str, Callable[..., Awaitable[Any]]] = {
            "opened": self._await_opened,
            "describe": self._describe,
            "members": self._members,
            "kill": self._kill,
            "kill_all": self._kill_all,
            "forget": self._forget,
            "rename": self._rename,
            "custody": self._custody,
            "watch": self._watched,
            "leave": self._leave,
        }

    # -- the keeper

    def _new_link(self) -> KeeperLink:
        return KeeperLink(on_event=self._keeper_says, on_lost=self._keeper_lost)

    async def connect(self) -> None:
        """Introduce this host to the keeper, which hands it its sessions."""
        await self._link.connect(self._layout.keeper_socket, role="host", name=self.name)

    def _keeper_says(self, message: Message) -> None:
        body = message.body
        if body["event"] == "adopt":
            self._adopt(body, message.fds[0])
        elif body["event"] == "ended" and body["session"] in self._sessions:
            self._sessions[body["session"]].end(_ending(body["ended"]))

    def _keeper_lost(self) -> None:
        """Exit codes of what ends from now on are unknown; the daemon finds a new keeper."""
        for session in self._sessions.values():
            session.knows_exit = lambda: False

    def _adopt(self, body: dict[str, Any], master: int) -> None:
        opened = self._opening(body["session"])
        try:
            self._open(body, master)
        except Exception as error:  # noqa: BLE001  one session's files must not end the others
            traceback.print_exc(file=sys.stderr)
            os.close(master)
            if not opened.done():
                opened.set_exception(_spawn_error(error))
                opened.exception()  # nobody may be waiting for it
        else:
            if not opened.done():
                opened.set_result(None)

    def _open(self, body: dict[str, Any], master: int) -> None:
        spec = msgspec.convert(body["spec"], Spec)
        directory = self._layout.session(spec.instance)
        stream, owed = self._stream(directory, spec)
        root = tree.Root(
            pid=body["pid"],
            birth=body["birth"],
            instance=spec.instance,
            terminal=tty.name(master),
            keeper=body["keeper"],
        )
        session = Session(spec, master=master, root=root, stream=stream)
        ledger = Ledger(f"{directory}/keys.jsonl")
        session.road = lambda payload: request.travel(session, ledger, payload)
        session.audience.emit = lambda event, facts: self.emit(session, event, facts)
        self._sessions[spec.instance] = session
        self._save_spec(spec)
        session.start(owed)
        if body["ended"] is not None:
            session.end(_ending(body["ended"]))

    def _stream(self, directory: str, spec: Spec) -> tuple[Stream, bytes]:
        size: dict[str, Any] = {
            "rows": spec.rows,
            "cols": spec.cols,
            "keep": _TEXT_KEPT,
            "nonce": spec.nonce,
        }
        if os.path.exists(f"{directory}/raw"):
            try:
                return Stream.recover(directory, **size)
            except (RingLost, ValueError) as error:
                sys.stderr.write(f"{self.name}: {spec.name} starts with an empty screen: {error}\n")
                shutil.rmtree(directory)
        os.makedirs(directory, mode=0o700, exist_ok=True)
        return Stream.create(directory, **size), b""

    def _save_spec(self, spec: Spec) -> None:
        """A later daemon may find the keeper with a terminal and no host that knows it."""
        path = self._layout.spec(spec.instance)
        atomic.replace(path, msgspec.json.encode(spec), durable=False)

    def _opening(self, instance: str) -> asyncio.Future[None]:
        if instance not in self._opened:
            self._opened[instance] = asyncio.get_running_loop().create_future()
        return self._opened[instance]

    # -- the daemon

    def watch(self, tell: Callable[[bytes], None] | None) -> None:
        """Tell events from now on, or no more."""
        self._tell = tell

    def emit(self, session: Session, event: str, facts: dict[str, Any]) -> None:
        """Tell one event of a session to who watches."""
        if self._tell is not None:
            spec = session.spec
            body = {"event": event, "id": spec.name, "instance": spec.instance, **facts}
            self._tell(msgspec.json.encode(body))

    def open(self, header: dict[str, Any], payload: bytes) -> Opened:
        """Open a stream of a session."""
        session = self._sessions.get(header["session"])
        if session is None:
            return Opened(head=failure(UnknownSession(header.get("name", header["session"]))))
        principal.acting.set(principal.of(header, kind="human"))
        return request.open_stream(session, payload)

    async def handle(self, header: dict[str, Any], payload: bytes) -> bytes:
        """Answer one request of the daemon: a session's, or about this host."""
        if "control" in header:
            return await self._control(header)
        session = self._sessions.get(header["session"])
        if session is None:
            return failure(UnknownSession(header.get("name", header["session"])))
        principal.acting.set(principal.of(header, kind="agent"))
        return await session.perform(payload)

    async def _control(self, header: dict[str, Any]) -> bytes:
        try:
            control = self._controls[header.pop("control")]
            return msgspec.json.encode({"ok": True, "data": await control(**header)})
        except AgentPtyError as error:
            return failure(error)
        except Exception as error:  # noqa: BLE001  answered, not swallowed: the log has it
            traceback.print_exc(file=sys.stderr)
            return failure(error)

    async def _await_opened(self, session: str) -> Described:
        await asyncio.shield(self._opening(session))
        return self._find(session).describe()

    async def _describe(self) -> HostReport:
        sessions = [session.describe() for session in self._sessions.values()]
        return HostReport(pid=os.getpid(), sessions=sessions)

    async def _members(self, session: str) -> int:
        return len(tree.members([self._find(session).root]))

    async def _kill(self, session: str) -> Any:
        return await self._find(session).kill()

    async def _kill_all(self) -> list[Process]:
        """End every tree at once: one reading of the process table serves all. Return survivors."""
        killed = await tree.kill_trees([session.root for session in self._sessions.values()])
        return killed.survivors

    async def _forget(self, session: str) -> None:
        """Free a session and its files."""
        found = self._sessions.pop(session, None)
        self._opened.pop(session, None)
        if found is not None:
            found.close()
        shutil.rmtree(self._layout.session(session), ignore_errors=True)

    async def _rename(self, session: str, name: str) -> None:
        found = self._find(session)
        found.spec = msgspec.structs.replace(found.spec, name=name)
        self._save_spec(found.spec)

    async def _custody(self) -> int:
        """Give every terminal to a new keeper, which knows none of our programs."""
        if not self._link.connected:
            self._link = self._new_link()
            await self.connect()
        for instance, session in self._sessions.items():
            await self._link.ask(
                {
                    "do": "custody",
                    "session": instance,
                    "pid": session.root.pid,
                    "birth": session.root.birth,
                    "host_pid": os.getpid(),
                    "ended": msgspec.to_builtins(session.ending),
                },
                [session.master],
            )
        return len(self._sessions)

    async def _watched(self, *, on: bool) -> None:
        """The wire has done it: events go to the connection that asked."""
        del on

    async def _leave(self) -> None:
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
        self._link.close()


def _ending(ended: dict[str, int | None]) -> Ending:
    return Ending(code=ended["code"], signal=ended["signal"])


def _spawn_error(error: Exception) -> AgentPtyError:
    if isinstance(error, OSError):
        return SpawnFailed(f"cannot keep the session's files: {error.strerror}")
    if isinstance(error, ChannelClosed):
        return SpawnFailed("the keeper went away")
    return Internal("the session could not be opened; the daemon's log has the traceback")
