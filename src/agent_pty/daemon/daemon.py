"""The wiring: one `handle` for every transport, and the daemon's own beginning and end."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agent_pty import log
from agent_pty.core.layout import Layout
from agent_pty.daemon.admission import principal
from agent_pty.daemon.approvals import DaemonApprovals
from agent_pty.daemon.bus import Bus
from agent_pty.daemon.checkpointing import Checkpointing
from agent_pty.daemon.command_line import CommandLine, Ops
from agent_pty.daemon.creation import Creator
from agent_pty.daemon.ending import Ender
from agent_pty.daemon.fork_work import ForkWork
from agent_pty.daemon.gateway_client import Adopt, GatewayClient, Take
from agent_pty.daemon.gc import Collector
from agent_pty.daemon.idle import session_limit
from agent_pty.daemon.index import Index
from agent_pty.daemon.journal_pages import JournalPages, RecordedEvent
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.daemon.past_events import PastAndPresent
from agent_pty.daemon.past_screens import PastScreens
from agent_pty.daemon.policing import Policing
from agent_pty.daemon.policy import DaemonPolicy
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.proofs import Proofs
from agent_pty.daemon.recovery import Recovery
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.requests import Requests
from agent_pty.daemon.retirement import Retirement
from agent_pty.daemon.status import evidence_facts, host_facts, identity, paused
from agent_pty.daemon.tmux_adoption import TmuxAdoption
from agent_pty.daemon.tmux_panes import TmuxPanes
from agent_pty.daemon.tracing import Tracing
from agent_pty.errors import AgentPtyError
from agent_pty.keeper.link import KeeperError
from agent_pty.keeper.message import Ended, HostEnded, KeeperEvent
from agent_pty.ops.gc import Collected, Gc
from agent_pty.ops.mcp import Mcp
from agent_pty.ops.model import Ending, Killed, PastSession, SessionInfo, Stopped, Wanted
from agent_pty.ops.past_screen import PastScreen, ScreenAt
from agent_pty.ops.proof import Proof
from agent_pty.ops.words import Words
from agent_pty.store.ledger import Ledger
from agent_pty.store.policy_store import KeptPolicy
from agent_pty.transports.caller import Answered, Caller

_STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """How the daemon ends: *keep* every session, and perhaps wait for a *successor*."""

    keep: bool
    successor: bool


class Daemon:
    """Owns the registry; answers registry ops itself and routes session ops to hosts."""

    def __init__(
        self,
        layout: Layout,
        *,
        isolated: bool,
        relisten: Callable[[], Awaitable[None]],
        adopt: Adopt,
        policy: KeptPolicy,
    ) -> None:
        self.layout = layout
        self._kept_policy = policy
        self.stopping: asyncio.Future[Stopping] = asyncio.get_running_loop().create_future()
        self._stopped: asyncio.Future[Stopped] = asyncio.get_running_loop().create_future()
        self._keeper = KeeperClient(
            layout, on_event=self._keeper_event, on_new=self._new_keeper, relisten=relisten
        )
        self._gateway = GatewayClient(layout, self._keeper, adopt)
        self._bus = Bus(self._watched)
        self._pool = Pool(
            layout,
            self._keeper,
            isolated=isolated,
            on_death=self._host_died,
            on_event=self._bus.relay,
            policy=lambda: self.policy.message,
        )
        self._registry = Registry(layout, self._pool)
        self._index = Index(layout)
        self.checkpoints = Checkpointing(layout, lambda: self.sessions)
        self._retirement = Retirement(self._registry, self._index, self.checkpoints)
        self._collector = Collector(layout, self._registry, self._index, self.checkpoints)
        self._panes = TmuxPanes(layout, self._keeper)
        self._ender = Ender(
            layout, self._keeper, self._pool, self._registry, self._retirement, panes=self._panes
        )
        self._creator = Creator(
            layout,
            self._keeper,
            self._pool,
            self._registry,
            self._ender,
            judge=self._policing.judge_start,
            panes=self._panes,
            idle_stop=session_limit(layout),
            guard=lambda: self.policy.current.file.guard,
        )
        self._past = PastAndPresent(self._bus, self._registry)
        self._tracing = Tracing(layout)
        ledger, authority = Ledger(layout.key_ledger), self._policing.authority
        self._requests = Requests(self, self._registry, ledger, self._tracing, authority)

    @functools.cached_property
    def _recovery(self) -> Recovery:
        return Recovery(
            layout=self.layout,
            keeper=self._keeper,
            pool=self._pool,
            registry=self._registry,
            creator=self._creator,
            ender=self._ender,
            panes=self._panes,
        )

    @functools.cached_property
    def tmux(self) -> TmuxAdoption:
        """Panes of people's tmux servers."""
        return TmuxAdoption(self._registry, self._creator, self._ender, self._panes)

    async def start(self) -> None:
        """Find the keeper and every session that is there."""
        self._started = time.time()
        self._tracing.start()
        held = await self._recovery.find_all(self._index.endings())
        await self._gateway.begin(held.gateway)
        self._index.begin(self._registry.entries, lambda: self._registry.instances)
        self.save_index()
        await self.forks.forking.remove_unfinished()

    @property
    def sessions(self) -> Sequence[tuple[str, str]]:
        """Instance and name of every session."""
        return [(record.instance, record.name) for record in self._registry.records]

    async def hold(self, listener: socket.socket) -> None:
        """Give the keeper a duplicate of the socket at which clients find us."""
        await self._keeper.hold(listener)

    def _keeper_event(self, event: KeeperEvent) -> None:
        if isinstance(event, Ended):
            ending = Ending(code=event.ended.code, signal=event.ended.signal)
            self._registry.ended(event.instance, ending)
            self._ender.forget_oldest()
            self.save_index()
        elif isinstance(event, HostEnded):
            self._recovery.note_cause(event.host, code=event.code, signal=event.signal)

    async def _new_keeper(self) -> None:
        await self._recovery.keeper_replaced()

    def _host_died(self, host: str) -> Coroutine[Any, Any, None]:
        return self._recovery.host_died(host)

    @property
    def caller(self) -> Caller:
        """Who sent the present request."""
        return self._requests.caller

    async def handle(self, payload: bytes, caller: Caller) -> Answered:
        """Answer one request, whatever transport brought it."""
        return await self._requests.handle(payload, caller)

    # -- ops: what `ops.context.Registry` promises

    async def create(self, wanted: Wanted) -> SessionInfo:
        """Start a session."""
        return await self._creator.create(wanted)

    def made_by(self, key: str) -> str | None:
        """Find a session by the key of the request that made it."""
        record = self._registry.made_by(key)
        return record.name if record is not None else None

    async def list(self) -> list[SessionInfo]:
        """List sessions."""
        await self._recovery.seek_all(await self._panes.follow_names(self._registry.records))
        listed = await self._registry.list()
        self._ender.forget_oldest()
        return listed

    async def past(self, *, after: str | None) -> Sequence[PastSession]:
        """List past sessions, a page of them."""
        return await self._index.page(self._registry.entries(), after=after)

    async def gc(self, asked: Gc) -> Collected:
        """Remove records of past sessions."""
        by = msgspec.to_builtins(principal(self._requests.caller))
        return await self._collector.collect(asked, by)

    async def kill(self, name: str) -> Killed:
        """End a session."""
        killed = await self._ender.kill(name)
        if not killed.already:
            self._bus.publish("killed", name, survivors=len(killed.survivors))
        return killed

    async def start_approved(self, request: str, patience: float) -> bool:
        """Return whether an operator approves the start of a program."""
        return await self._policing.start_gate.decided(request, patience)

    @property
    def approvals(self) -> DaemonApprovals:
        """What waits for an operator."""
        return self._policing.approvals

    @property
    def policy(self) -> DaemonPolicy:
        """The rules in force."""
        return self._policing.policy

    @functools.cached_property
    def _policing(self) -> Policing:
        return Policing(
            self.layout,
            self._kept_policy,
            self._pool,
            self._registry,
            caller=lambda: self.caller,
            publish=self._bus.publish,
        )

    @property
    def trace_path(self) -> str:
        """Where the trace of every request is written."""
        return self.layout.traces

    async def journal_page(
        self, name: str, instance: str | None, *, after: int
    ) -> Sequence[RecordedEvent]:
        """Read the journal of a session, also of one that is gone."""
        return await self._journal_pages.read(name, instance, after=after)

    @functools.cached_property
    def _journal_pages(self) -> JournalPages:
        return JournalPages(self.layout.log_dir)

    async def past_screen(self, asked: ScreenAt) -> PastScreen:
        """Draw the screen of a past moment."""
        return await self._past_screens.draw(asked)

    @functools.cached_property
    def _past_screens(self) -> PastScreens:
        return PastScreens(self.layout, self._registry, self._pool)

    @functools.cached_property
    def forks(self) -> ForkWork:
        """Sessions that continue others, and their copies."""
        return ForkWork(
            self.layout, self._registry, self.create, self.kill, lambda: principal(self.caller)
        )

    @functools.cached_property
    def _proofs(self) -> Proofs:
        return Proofs(
            self.layout, self._registry, self._past_screens, self.checkpoints, self.policy
        )

    async def proof(self, asked: Proof) -> msgspec.Raw:
        """Write a proof of a session, also of one that is gone."""
        return await self._proofs.make(asked, principal(self._requests.caller))

    async def rename(self, name: str, new_name: str) -> SessionInfo:
        """Rename a session; the instance and its files stay."""
        return await self._registry.give_name(name, new_name)

    async def forward(self, name: str, payload: bytes) -> bytes:
        """Ask a session's host."""
        return await self._requests.forward(name, payload)

    async def watch(
        self, *, name: str | None, kinds: Sequence[str] | None, since: int | None
    ) -> AsyncIterator[bytes]:
        """Follow events; with *since*, those of one session after that number first."""
        after = None
        if name is not None and since is not None:
            after = {self._registry.find(name).instance: since}
        return await self._past.watch(name, kinds, after=after)

    async def serve_http(self, address: str, port: int, *, remote: bool) -> AsyncIterator[bytes]:
        """Have the gateway serve HTTP."""
        return await self._gateway.serve_http(address, port, remote=remote)

    async def mcp(self, asked: Mcp) -> Take:
        """Have the gateway speak MCP with the caller of the present request."""
        return await self._gateway.mcp(asked, self._requests.caller)

    def command_line(self, asked: Words) -> CommandLine:
        """Carry out a command line for the caller of the present request."""
        return CommandLine(asked, Ops(self, self._requests.caller, asked.key))

    async def announced_events(
        self, name: str | None, kinds: Sequence[str] | None, after: Mapping[str, int] | None
    ) -> AsyncIterator[bytes]:
        """Follow events; the first one says that none is missed from now on.

        *after* has the numbers of the last events seen, by instance.
        """
        return await self._past.watch(name, kinds, after=after, announce=True)

    async def ask(self, name: str, fields: dict[str, Any], caller: Caller) -> Any:
        """Return what an op answers to fields that need not be valid UTF-8."""
        return await self._requests.ask(name, fields, caller)

    async def _watched(self, on: bool) -> None:  # noqa: FBT001  a callback with one meaning
        await self._pool.watch(on=on)

    async def status(self) -> dict[str, Any]:
        """Return facts about this daemon."""
        await self._registry.glance()
        return {
            **identity(self.layout),
            "session_count": len(self._registry.records),
            "keeper_pid": self._keeper.pid,
            "keeper_build": self._keeper.build,
            "keeper_error": self._keeper.trouble,
            "hosts": host_facts(self._pool, self._registry),
            "uptime_s": int(time.time() - self._started),
            "output_paused": paused(self._registry),
            "policy": msgspec.to_builtins(self.policy.described()),
            "evidence": evidence_facts(self._pool, self._registry, self.checkpoints.problems),
            "gateway": self._gateway.facts,
            **self._tracing.facts,
        }

    def shut_down(self, *, keep: bool = False, successor: bool = False) -> None:
        """Begin to stop; answers that are on their way still go out."""
        if not self.stopping.done():
            self.stopping.set_result(Stopping(keep=keep, successor=successor))

    @property
    def has_sessions(self) -> bool:
        """Whether there is a session, running or exited."""
        return bool(self._registry.records)

    @property
    def leaves_everything(self) -> bool:
        """Whether the end has begun and every session stays."""
        return self.stopping.done() and self.stopping.result().keep

    async def stopped(self) -> Stopped:
        """Return what is left, once every session has been ended."""
        return await asyncio.shield(self._stopped)

    # -- the end

    def save_index(self) -> None:
        """Write soon which sessions there are."""
        self._index.save(self._registry.entries)

    async def close(self, stopping: Stopping) -> None:
        """End every session and process of ours, or leave them all for the next daemon."""
        self._collector.stop()
        await self._requests.finish(_STOP_SECONDS)
        self.forks.forking.close()
        if stopping.keep and (self._registry.records or stopping.successor):
            self._tracing.abandon()
            self._pool.close()
            self._gateway.close()
            await self._keeper.leave(successor=stopping.successor)
        else:
            await self._end_all()
        self.save_index()
        await self._index.flush()
        await self._tracing.close()

    async def _end_all(self) -> None:
        await self._gateway.leave()
        self._pool.retire()
        await self._pool.settle()
        await asyncio.gather(*(self._pool.end(link) for link in self._pool.links))
        # What had no host, or one that hung, or was not known to belong to a session.
        left = await self._ender.end_everything()
        for survivor in left.survivors:
            log.line(f"daemon: could not end process {survivor}")
        self._retirement.end_all()
        self._pool.close()
        with contextlib.suppress(AgentPtyError, KeeperError):
            await self._keeper.stop()
        self._stopped.set_result(left)
