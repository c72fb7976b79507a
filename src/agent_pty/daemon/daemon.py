"""The wiring: one `handle` for every transport, and the daemon's own beginning and end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from agent_pty import log, ops
from agent_pty.core.layout import Layout
from agent_pty.daemon.admission import check_offered, check_version, principal
from agent_pty.daemon.bus import Bus
from agent_pty.daemon.command_line import CommandLine, Ops
from agent_pty.daemon.creation import Creator
from agent_pty.daemon.ending import Ender
from agent_pty.daemon.gateway_client import Adopt, GatewayClient, Take
from agent_pty.daemon.host_link import HostLink
from agent_pty.daemon.index import Index
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.daemon.past_events import PastAndPresent
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.recovery import Recovery
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.run_to_end import RunToEnd
from agent_pty.daemon.status import host_facts, identity
from agent_pty.errors import AgentPtyError, BadRequest, UnknownSession
from agent_pty.host import message
from agent_pty.host.message import Addressed, AddressedStream
from agent_pty.keeper.link import KeeperError
from agent_pty.keeper.message import Ended, HostEnded, KeeperEvent
from agent_pty.ops.mcp import Mcp
from agent_pty.ops.model import Ending, Killed, SessionInfo, Stopped, Wanted
from agent_pty.ops.op import (
    LARGEST_PAGE,
    Head,
    Keyed,
    Op,
    Request,
    content,
    convert,
    decode,
    decode_head,
    encode,
    failure,
    success,
)
from agent_pty.ops.words import Words
from agent_pty.store import journal_files
from agent_pty.store.journal_reader import page
from agent_pty.store.ledger import Ledger
from agent_pty.transports.caller import Answered, Caller, HandedOver, Streaming, pouring

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
    ) -> None:
        self.layout = layout
        self.stopping: asyncio.Future[Stopping] = asyncio.get_running_loop().create_future()
        self._stopped: asyncio.Future[Stopped] = asyncio.get_running_loop().create_future()
        self._started = time.time()
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
        )
        self._registry = Registry(layout, self._pool)
        self._ender = Ender(layout, self._keeper, self._pool, self._registry)
        self._creator = Creator(
            self._keeper, self._pool, self._registry, self._ender, variables=layout.variables_for
        )
        self._recovery = Recovery(
            layout=layout,
            keeper=self._keeper,
            pool=self._pool,
            registry=self._registry,
            creator=self._creator,
            ender=self._ender,
        )
        self._past = PastAndPresent(self._bus, self._registry)
        self._ledger = Ledger(layout.key_ledger)
        self._changes = RunToEnd()
        # Who opens a stream, for the command line that acts in their name.
        self._calling: ContextVar[Caller] = ContextVar("calling")
        self._index = Index(layout.session_index)

    async def start(self) -> None:
        """Find the keeper and every session that is there."""
        held = await self._recovery.find_all(self._index.endings())
        await self._gateway.begin(held.gateway)
        self._index.check()
        self._save_index()

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
            self._save_index()
        elif isinstance(event, HostEnded):
            self._recovery.note_cause(event.host, code=event.code, signal=event.signal)

    async def _new_keeper(self) -> None:
        await self._recovery.keeper_replaced()

    def _host_died(self, host: str) -> Coroutine[Any, Any, None]:
        return self._recovery.host_died(host)

    # -- the road

    async def handle(self, payload: bytes, caller: Caller) -> Answered:
        """Answer one request, whatever transport brought it."""
        by = principal(caller)
        try:
            head = decode_head(payload)
            check_version(head)
            op = ops.find(head.op)
            check_offered(op, caller)
            if op.where == "session":
                return await self._forward(op, head, payload, by)
            if op.stream:
                return await self._open(op, head, payload, caller)
            return await self._answer(op, decode(op, payload), payload)
        except Exception as error:  # noqa: BLE001  one request's mistake must not reach the others
            return failure(error)

    async def _forward(
        self, op: Op, head: Head, payload: bytes, by: message.Caller
    ) -> bytes | Streaming:
        if head.id is None:
            raise BadRequest(f"invalid request: {op.name} needs the field `id`", field="id")
        if not op.stream:
            return await self._ask_host(head.id, payload, by)
        record = self._registry.find(head.id)
        link = await self._registry.link(record)
        asked = AddressedStream(instance=record.instance, name=record.name, caller=by)
        stream = await link.stream(asked, payload)
        if not stream.opened:
            return stream.head
        return Streaming(head=stream.head, pour=pouring(stream.chunks()), give=stream.give)

    async def _ask_host(self, name: str, payload: bytes, by: message.Caller) -> bytes:
        record = self._registry.find(name)
        link = await self._registry.link(record)
        asked = Addressed(instance=record.instance, name=record.name, caller=by)
        return await link.request(asked, payload)

    async def _open(
        self, op: Op, head: Head, payload: bytes, caller: Caller
    ) -> Streaming | HandedOver:
        """Open a stream of the daemon's own."""
        if head.id is not None:
            self._registry.find(head.id)  # a stream that has begun can refuse nothing
        self._calling.set(caller)
        opened, opening = await op.handler(self, decode(op, payload)), success(op, None)
        if isinstance(opened, CommandLine):
            return Streaming(head=opening, pour=opened.pour, give=opened.give, patient=True)
        if callable(opened):
            return HandedOver(head=opening, take=opened)
        return Streaming(head=opening, pour=pouring(opened))

    async def _answer(self, op: Op, request: Request, payload: bytes) -> bytes:
        answering = self._answer_once(op, request, payload)
        # Half a `new` is a program that nobody can find.
        to_its_end = op.mutates and not op.waits
        try:
            return await (self._changes.do(answering) if to_its_end else answering)
        except OSError as error:  # a key that cannot be saved: nothing was done
            return failure(error)

    async def _answer_once(self, op: Op, request: Request, payload: bytes) -> bytes:
        key = request.key if isinstance(request, Keyed) else None
        resume = op.resume if self._ledger.interrupted(key) else None
        results: list[Any] = []

        async def act() -> bytes:
            try:
                result = await (resume or op.handler)(self, request)
            except AgentPtyError as error:
                if self.leaves_everything:
                    raise  # this is no answer: the next daemon takes it up
                return failure(error)
            if op.mutates:
                self._save_index()
            results.append(result)
            return success(op, result)

        answer = await self._ledger.once(
            key, payload, act, continues=op.continues, durable=op.mutates
        )
        if results and op.afterwards is not None:
            await op.afterwards(self, request, results[0])
        return answer

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
        listed = await self._registry.list()
        self._ender.forget_oldest()
        return listed

    async def kill(self, name: str) -> Killed:
        """End a session."""
        killed = await self._ender.kill(name)
        if not killed.already:
            self._bus.publish("killed", name, survivors=len(killed.survivors))
        return killed

    async def journal_page(self, name: str, instance: str | None, *, after: int) -> Sequence[bytes]:
        """Read the journal of a session, also of one that is gone."""
        path = journal_files.find(self.layout.log_dir, name, instance)
        if path is None:
            raise UnknownSession(name)
        return await asyncio.to_thread(page, path, after=after, most_bytes=LARGEST_PAGE)

    async def rename(self, name: str, new_name: str) -> SessionInfo:
        """Rename a session; the instance and its files stay."""
        record = self._registry.find(name)
        new_name = self._registry.reserve(new_name)
        try:
            link = await self._registry.link(record)
            await link.control(message.Rename(instance=record.instance, name=new_name))
            self._registry.rename(record, new_name)
        finally:
            self._registry.unreserve(new_name)
        return self._registry.info(record)

    async def forward(self, name: str, payload: bytes) -> bytes:
        """Ask a session's host."""
        try:
            return await self._ask_host(name, payload, message.Caller(transport="daemon"))
        except AgentPtyError as error:
            return failure(error)

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
        return await self._gateway.mcp(asked, self._calling.get())

    def command_line(self, asked: Words) -> CommandLine:
        """Carry out a command line for the caller of the present request."""
        return CommandLine(asked, Ops(self, self._calling.get(), asked.key))

    async def announced_events(
        self, name: str | None, kinds: Sequence[str] | None, after: Mapping[str, int] | None
    ) -> AsyncIterator[bytes]:
        """Follow events; the first one says that none is missed from now on.

        *after* has the numbers of the last events seen, by instance.
        """
        return await self._past.watch(name, kinds, after=after, announce=True)

    async def ask(self, name: str, fields: dict[str, Any], caller: Caller) -> Any:
        """Return what an op answers to fields that need not be valid UTF-8."""
        op = ops.find(name)
        if op.where == "session":
            payload = encode(name, fields)
            envelope = await self._ask_host(fields["id"], payload, principal(caller))
        else:
            request = convert(op, fields)
            envelope = await self._answer(op, request, json.dumps(fields).encode())
        return content(envelope)

    async def _watched(self, on: bool) -> None:  # noqa: FBT001  a callback with one meaning
        await self._pool.watch(on=on)

    async def status(self) -> dict[str, Any]:
        """Return facts about this daemon."""
        paused = await self._registry.paused()
        return {
            **identity(self.layout),
            "session_count": len(self._registry.records),
            "keeper_pid": self._keeper.pid,
            "keeper_build": self._keeper.build,
            "keeper_error": self._keeper.trouble,
            "hosts": host_facts(self._pool, self._registry),
            "uptime_s": int(time.time() - self._started),
            "output_paused": paused,
            "gateway": self._gateway.facts,
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

    def _save_index(self) -> None:
        self._index.save(lambda: [self._registry.info(r) for r in self._registry.records])

    async def close(self, stopping: Stopping) -> None:
        """End every session and process of ours, or leave them all for the next daemon."""
        await self._changes.finish(_STOP_SECONDS)
        self._save_index()
        if stopping.keep and (self._registry.records or stopping.successor):
            self._pool.close()
            self._gateway.close()
            await self._keeper.leave(successor=stopping.successor)
        else:
            await self._end_all()
        self._index.flush()

    async def _end_all(self) -> None:
        await self._gateway.leave()
        self._pool.retire()
        await self._pool.settle()
        await asyncio.gather(*(self._end_host(link) for link in self._pool.links))
        # What had no host, or one that hung, or was not known to belong to a session.
        left = await self._ender.end_everything()
        for survivor in left.survivors:
            log.line(f"daemon: could not end process {survivor}")
        self._pool.close()
        with contextlib.suppress(AgentPtyError, KeeperError):
            await self._keeper.stop()
        self._stopped.set_result(left)

    async def _end_host(self, link: HostLink) -> None:
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await link.control(message.KillAll())
                await link.control(message.Leave())
        except (AgentPtyError, TimeoutError) as error:
            log.line(f"daemon: host {link.name} does not leave: {error}")
            self._pool.destroy(link)
