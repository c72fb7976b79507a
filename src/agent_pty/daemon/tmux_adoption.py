"""Panes that people have made in their own tmux: taken as sessions, and given back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections import defaultdict

import msgspec

from agent_pty.core.redaction.argv import redacted_argv
from agent_pty.daemon.creation import Creator, time_now
from agent_pty.daemon.ending import Ender
from agent_pty.daemon.lost_sessions import now
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.tmux_panes import TmuxPanes, place_of
from agent_pty.errors import AgentPtyError, BadRequest, TmuxFailed
from agent_pty.host import message
from agent_pty.ops.model import Ending, Spec, State
from agent_pty.ops.tmux import Adopt, Adopted, Released, TmuxPane
from agent_pty.ops.tmux_socket import OWN, user_socket
from agent_pty.process import table
from agent_pty.tmux import pane as panes
from agent_pty.tmux.pane import Pane
from agent_pty.tmux.pipe import close_pipe
from agent_pty.tmux.server import TargetGone, TmuxServer, check_version


class TmuxAdoption:
    """Makes sessions of panes; nothing of a pane is changed but its pipe and a mark."""

    def __init__(self, registry: Registry, creator: Creator, ender: Ender, made: TmuxPanes) -> None:
        self._registry = registry
        self._creator = creator
        self._ender = ender
        self._made = made
        # Of two requests for one pane the second must see the mark of the first. By socket.
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def panes(self, socket: str | None) -> list[TmuxPane]:
        """Return what could be adopted, and what cannot."""
        await check_version()
        found = await panes.panes(_server(socket))
        return [self._described(one) for one in found]

    def _described(self, one: Pane) -> TmuxPane:
        names = {record.instance: record.name for record in self._registry.records}
        name = names.get(one.instance or "")
        return TmuxPane(
            target=one.address,
            pane=one.id,
            pid=one.pid,
            command=one.command,
            cwd=one.directory,
            rows=one.rows,
            cols=one.cols,
            id=name,
            reason=None if name is not None else _obstacle(one),
        )

    async def adopt(self, asked: Adopt) -> Adopted:
        """Connect with a pane; it is a session from now on."""
        await check_version()
        server = _server(asked.tmux_socket)
        async with self._turns[server.socket]:
            found = await self._target(server, asked.target)
            name = self._registry.reserve(asked.id)
            try:
                record = await self._take(server, found, name)
            finally:
                self._registry.unreserve(name)
            self._registry.add(record)
        return Adopted(
            id=name,
            instance=record.instance,
            pid=record.pid,
            tmux_session=found.session,
            pane=found.id,
        )

    async def _target(self, server: TmuxServer, target: str) -> Pane:
        """Return the pane that is meant, exactly: tmux would take one with a similar name."""
        meant = (one for one in await panes.panes(server) if one.is_meant_by(target))
        found = next(meant, None)
        if found is None:
            raise BadRequest(
                f"no pane {target!r} in the tmux server at {server.socket}: "
                "`agent-pty list --tmux` shows what there is",
                field="target",
            )
        if (why := _obstacle(found)) is not None:
            raise BadRequest(f"{found.address} cannot be adopted: {why}", field="target")
        return found

    async def _take(self, server: TmuxServer, found: Pane, name: str) -> Record:
        place = place_of(server, found, pid=found.pid, adopted=True)
        # Of the pane's own process: what is in the foreground now may be a child of it.
        argv = _arguments(found.pid)
        shown = argv or [found.command or "unknown"]
        spec = Spec(
            instance=secrets.token_hex(8),
            name=name,
            argv=shown,
            shown_argv=redacted_argv(shown),
            workspace=found.directory or "/",
            env_names=[],
            rows=found.rows,
            cols=found.cols,
            started_at=time_now(),
            nonce=secrets.token_hex(8),
            tmux=msgspec.structs.replace(place, argv_known=bool(argv)),
        )
        try:
            await panes.mark(server, found.id, spec.instance)
            record = await self._made.connect(server, spec, found)
            await self._creator.give_to_host(record)
        except BaseException:
            with contextlib.suppress(TmuxFailed):
                await _let_go(server, found.id, spec.instance)
            raise
        return record

    async def release(self, name: str) -> Released:
        """Disconnect from a pane that was adopted; its program goes on."""
        record = self._registry.find(name)
        place = record.spec.tmux
        if place is None or not place.adopted:
            raise BadRequest(
                f"session {name} was not adopted: `agent-pty kill {name}` ends it", field="id"
            )
        server = TmuxServer(place.socket, own=place.own)
        # First, because it can fail: then the session is as before, and may be released later.
        found = await panes.find(server, place.pane, record.instance)
        with contextlib.suppress(AgentPtyError):  # a host that is gone has nothing open
            link = await self._registry.link(record)
            await link.control(message.NoteRelease(instance=record.instance))
        if record.state is State.RUNNING:
            record.exit(Ending(), at=now())
        await self._ender.forget(record)
        if found is None:
            note = f"tmux was left alone: {place.pane} there is not the pane that was adopted"
            return Released(id=name, pane=place.pane, note=note)
        await _let_go(server, place.pane, record.instance)
        return Released(id=name, pane=place.pane)


async def _let_go(server: TmuxServer, pane: str, instance: str) -> None:
    """Remove our pipe and our mark from a pane; one that is not ours by now is left alone."""
    if await panes.find(server, pane, instance) is None:
        return
    with contextlib.suppress(TargetGone):
        await close_pipe(server, pane)
        await panes.mark(server, pane, None)


def _server(socket: str | None) -> TmuxServer:
    chosen = user_socket(os.environ) if socket in (None, OWN) else socket
    return TmuxServer(os.path.abspath(chosen or ""), own=False)


def _arguments(pid: int) -> list[str]:
    """Return how a program can be started as it was; empty if that cannot be seen.

    A login shell has a `-` before its name, which is not the name of a file.
    """
    argv = table.arguments(pid)
    if argv and argv[0].startswith("-"):
        file = table.program_file(pid)
        argv = [] if file is None else [file, *argv[1:]]
    # What is remembered of a session is text.
    return [os.fsencode(word).decode("utf-8", "replace") for word in argv]


def _obstacle(found: Pane) -> str | None:
    """Return why a pane cannot be adopted."""
    if found.dead:
        return "its program has ended"
    if found.instance is not None:
        return "it is a session of agent-pty already"
    if found.piped:
        return "its output is piped somewhere by pipe-pane"
    return None
