"""Sessions whose terminal is a tmux pane: how they begin, and how they are found again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from agent_pty.core.layout import Layout
from agent_pty.daemon.keeper_client import KeeperClient, spawn_error
from agent_pty.daemon.lost_sessions import Loss
from agent_pty.daemon.record import Record
from agent_pty.errors import AgentPtyError, TmuxFailed
from agent_pty.keeper.birth import birth
from agent_pty.keeper.link import KeeperError
from agent_pty.keeper.message import Hold, Spawn
from agent_pty.ops.model import Spec, Wanted
from agent_pty.ops.tmux_place import TmuxPlace
from agent_pty.ops.tmux_socket import OWN, user_socket
from agent_pty.tmux import gap_note, pane
from agent_pty.tmux.gap_note import Missed
from agent_pty.tmux.pane import Pane
from agent_pty.tmux.pipe import open_pipe
from agent_pty.tmux.server import PATIENCE, TmuxServer, check_version
from agent_pty.tmux.start import LaunchFailed, PaneProgram, start

# How long `list` waits for a tmux server: it must answer also when one hangs.
_GLANCE_SECONDS = 0.5
_BEFORE = "the pane was adopted here: what it showed before is only on the screen"
_AWAY = "no process of agent-pty was there to read the tmux pane"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """Whether a session is still in tmux is not known; *why* it could not be asked."""

    why: str


class TmuxPanes:
    """Makes panes and finds them again; their pipes go to the keeper, as PTY masters do."""

    def __init__(self, layout: Layout, keeper: KeeperClient) -> None:
        self._layout = layout
        self._keeper = keeper

    async def start(self, wanted: Wanted, spec: Spec, spawn: Spawn) -> Record:
        """Start a program in a tmux session of its own."""
        await check_version()
        server = self._server(wanted)
        program = PaneProgram(
            argv=spawn.argv,
            cwd=spawn.cwd,
            env=spawn.env,
            secret=spawn.secret,
            instance=spec.instance,
            session=_session_name(spec),
            rows=spec.rows,
            cols=spec.cols,
        )
        try:
            started = await start(server, program, self._layout.pane_sockets(spec.instance))
        except LaunchFailed as error:
            raise spawn_error(spawn.argv[0], spawn.cwd, error.why) from error
        place = place_of(server, started.pane, pid=started.pid)
        return await self._hold(msgspec.structs.replace(spec, tmux=place), started.pipe)

    def _server(self, wanted: Wanted) -> TmuxServer:
        chosen = wanted.tmux_socket
        if chosen is None:
            return TmuxServer(self._layout.tmux_socket, own=True)
        environment = os.environ if wanted.environment is None else wanted.environment
        path = user_socket(environment) if chosen == OWN else chosen
        return TmuxServer(os.path.abspath(path), own=False)

    async def _hold(self, spec: Spec, pipe: int) -> Record:
        """Give a pipe to the keeper; the pane stays if that fails."""
        pid = spec.tmux.pid if spec.tmux is not None else 0
        record = Record(spec, pid=pid, birth=birth(pid))
        try:
            await self._keeper.ask(
                Hold(
                    instance=spec.instance,
                    pid=pid,
                    birth=record.birth,
                    spec=msgspec.to_builtins(spec),
                ),
                [pipe],
            )
        finally:
            os.close(pipe)
        return record

    async def find_again(
        self, losses: Sequence[tuple[Record, Loss]], *, patience: float = PATIENCE
    ) -> list[Loss | Unasked | None]:
        """Give the keeper the panes of sessions that no process of ours has.

        For each session return None, or why it has no pane any more, or that tmux did not say. Its
        *loss* says when it was noticed first. Each server is asked once, for *patience* seconds.
        """
        places = {
            record.spec.tmux.socket: record.spec.tmux for record, _ in losses if record.spec.tmux
        }
        answers = await asyncio.gather(*(_listed(one, patience) for one in places.values()))
        listed = dict(zip(places, answers, strict=True))
        return await asyncio.gather(*(self._find_again(*one, listed) for one in losses))

    async def _find_again(
        self, record: Record, loss: Loss, listed: Mapping[str, list[Pane] | Unasked]
    ) -> Loss | Unasked | None:
        place = record.spec.tmux
        if place is None:
            return loss
        there = listed[place.socket]
        if isinstance(there, Unasked):
            return there
        server = TmuxServer(place.socket, own=place.own)
        try:
            found = await pane.pick(server, there, place.pane, record.instance)
            if found is None:
                why = "its pane, or the whole tmux server, was ended outside of agent-pty"
                return Loss(at=loss.at, why=f"tmux session {place.session} is not running: {why}")
            await self._reopen(server, record, found)
        except (AgentPtyError, KeeperError, OSError) as error:
            return Unasked(why=str(error))
        return None

    async def connect(self, server: TmuxServer, spec: Spec, found: Pane) -> Record:
        """Give the keeper a pane whose program runs already; its screen is what it shows now."""
        pipe, drawn = await open_pipe(server, found.id, self._layout.pane_sockets(spec.instance))
        missed = Missed(reason=_BEFORE, drawn=drawn)
        gap_note.leave(self._layout.session(spec.instance), missed)
        return await self._hold(spec, pipe)

    async def _reopen(self, server: TmuxServer, record: Record, found: Pane) -> None:
        directory = self._layout.session(record.instance)
        if found.dead:
            # How it ended tmux knows; the host asks when it sees that this has ended.
            ours, theirs = socket.socketpair()
            theirs.close()
            pipe, drawn = ours.detach(), b""
        else:
            pipe, drawn = await open_pipe(
                server, found.id, self._layout.pane_sockets(record.instance)
            )
        gap_note.leave(directory, Missed(reason=_AWAY, drawn=drawn))
        spec = msgspec.structs.replace(record.spec, rows=found.rows, cols=found.cols)
        held = await self._hold(spec, pipe)
        record.begin_again(spec, pid=held.pid, birth=held.birth)

    async def follow_names(self, records: Sequence[Record]) -> list[Record]:
        """Learn what people call the sessions in tmux now; a server that hangs is left out.

        Return those that are there.
        """
        there: list[Record] = []
        places = {one.spec.tmux.socket: one.spec.tmux for one in records if one.spec.tmux}
        for place in places.values():
            with contextlib.suppress(TmuxFailed):
                server = TmuxServer(place.socket, own=place.own)
                found = await pane.panes(server, patience=_GLANCE_SECONDS)
                names = {(one.id, one.instance): one.session for one in found}
                for record in records:
                    key = (record.spec.tmux.pane if record.spec.tmux else "", record.instance)
                    if key in names:
                        record.rename_in_tmux(names[key])
                        there.append(record)
        return there

    async def remove(self, spec: Spec) -> None:
        """Remove what is left of a session that was forgotten; never a pane that was adopted."""
        if spec.tmux is None or spec.tmux.adopted:
            return
        with contextlib.suppress(TmuxFailed):
            server = TmuxServer(spec.tmux.socket, own=spec.tmux.own)
            if await pane.find(server, spec.tmux.pane, spec.instance) is not None:
                await pane.kill(server, spec.tmux.pane)


async def _listed(place: TmuxPlace, patience: float) -> list[Pane] | Unasked:
    try:
        return await pane.panes(TmuxServer(place.socket, own=place.own), patience=patience)
    except (TmuxFailed, OSError) as error:
        return Unasked(why=str(error))


def _session_name(spec: Spec) -> str:
    """Return a name that no other session has; tmux has no `.` in names."""
    return f"{spec.name.replace('.', '_')}-{spec.instance[:8]}"


def place_of(server: TmuxServer, found: Pane, *, pid: int, adopted: bool = False) -> TmuxPlace:
    """Return where a pane is."""
    return TmuxPlace(
        socket=server.socket,
        session=found.session,
        pane=found.id,
        tty=found.tty,
        pid=pid,
        own=server.own,
        adopted=adopted,
    )
