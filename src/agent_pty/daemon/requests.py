"""The road of every request in the daemon: decode, authorise, then act or ask a session's host."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol

from msgspec import structs

from agent_pty import ops
from agent_pty.daemon.admission import check_offered, check_version, principal
from agent_pty.daemon.authority import Authority
from agent_pty.daemon.command_line import CommandLine
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.run_to_end import RunToEnd
from agent_pty.daemon.tracing import OpenSpan, Tracing
from agent_pty.errors import AgentPtyError, ApprovalRequired, BadRequest
from agent_pty.host import message
from agent_pty.host.message import Addressed, AddressedStream
from agent_pty.ops.gated import Gated
from agent_pty.ops.op import (
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
    without_traceparent,
)
from agent_pty.store.ledger import Ledger
from agent_pty.transports.caller import Answered, Caller, HandedOver, Streaming, pouring


class Context(Protocol):
    """The daemon: what handlers of its own ops are given, and what happens after them."""

    @property
    def leaves_everything(self) -> bool:
        """Whether the end has begun and every session stays."""

    def save_index(self) -> None:
        """Write soon which sessions there are."""

    async def start_approved(self, request: str, patience: float) -> bool:
        """Return whether an operator approves the start of a program within *patience*."""


class Requests:
    """Answers requests: those about sessions as a whole here, those of one session by its host."""

    def __init__(
        self,
        context: Context,
        registry: Registry,
        ledger: Ledger,
        tracing: Tracing,
        authority: Authority,
    ) -> None:
        self._context = context
        self._registry = registry
        self._ledger = ledger
        self._tracing = tracing
        self._authority = authority
        self._changes = RunToEnd()
        self._calling: ContextVar[Caller] = ContextVar("calling")

    @property
    def caller(self) -> Caller:
        """Who sent the present request: a command line acts in their name, too."""
        return self._calling.get()

    async def finish(self, patience: float) -> None:
        """Let changes that have begun come to their end."""
        await self._changes.finish(patience)

    async def handle(self, payload: bytes, caller: Caller) -> Answered:
        """Answer one request, whatever transport brought it."""
        with self._tracing.request(caller.transport) as span:
            answer = await self._handle(payload, caller, span)
            span.answered(answer)
            return answer

    async def _handle(self, payload: bytes, caller: Caller, span: OpenSpan) -> Answered:
        by = principal(caller)
        self._calling.set(caller)
        try:
            head = decode_head(payload)
            span.asks(head)
            if head.traceparent is not None:
                payload = without_traceparent(payload)
            check_version(head)
            op = ops.find(head.op)
            check_offered(op, caller)
            await self._authority.check(op, caller)
            if op.where == "session":
                return await self._forward(op, head, payload, by)
            if op.stream:
                return await self._open(op, head, payload)
            return await self._answer(op, decode(op, payload), payload)
        except Exception as error:  # noqa: BLE001  one request's mistake must not reach the others
            return failure(error)

    async def ask(self, name: str, fields: dict[str, Any], caller: Caller) -> Any:
        """Return what an op answers to fields that need not be valid UTF-8."""
        op = ops.find(name)
        await self._authority.check(op, caller)
        with self._tracing.part(caller.transport) as span:
            span.asks(Head(op=name, id=fields.get("id")))
            if op.where == "session":
                payload = encode(name, fields)
                envelope = await self._ask_host(fields["id"], payload, principal(caller))
            else:
                self._calling.set(caller)
                request = convert(op, fields)
                envelope = await self._answer(op, request, json.dumps(fields).encode())
            return content(envelope)

    async def forward(self, name: str, payload: bytes) -> bytes:
        """Let a session's host answer on behalf of the request that is being answered here."""
        with self._tracing.part("daemon") as span:
            span.asks(decode_head(payload))
            try:
                by = message.Caller(transport="daemon")
                envelope = await self._ask_host(name, payload, by)
            except AgentPtyError as error:
                envelope = failure(error)
            span.answered(envelope)
            return envelope

    async def _ask_host(self, name: str, payload: bytes, by: message.Caller) -> bytes:
        """Let a session's host answer."""
        record = self._registry.find(name)
        link = await self._registry.link(record)
        asked = Addressed(instance=record.instance, name=record.name, caller=by)
        return await link.request(asked, payload)

    async def _forward(
        self, op: Op, head: Head, payload: bytes, by: message.Caller
    ) -> bytes | Streaming:
        if head.id is None:
            raise BadRequest(f"invalid request: {op.name} needs the field `id`", field="id")
        if not op.stream:
            return await self._ask_host(head.id, payload, by)
        record = self._registry.find(head.id)
        link = await self._registry.link(record)
        by = structs.replace(by, terminal=self._authority.at_terminal(self.caller))
        asked = AddressedStream(instance=record.instance, name=record.name, caller=by)
        stream = await link.stream(asked, payload)
        if not stream.opened:
            return stream.head
        return Streaming(head=stream.head, pour=pouring(stream.chunks()), give=stream.give)

    async def _open(self, op: Op, head: Head, payload: bytes) -> Streaming | HandedOver:
        """Open a stream of the daemon's own."""
        if head.id is not None:
            self._registry.find(head.id)  # a stream that has begun can refuse nothing
        opened = await op.handler(self._context, decode(op, payload))
        opening = success(op, None)
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
                result = await self._approved(resume or op.handler, request)
            except AgentPtyError as error:
                if self._context.leaves_everything:
                    raise  # this is no answer: the next daemon takes it up
                return failure(error)
            if op.mutates:
                self._context.save_index()
            results.append(result)
            return success(op, result)

        answer = await self._ledger.once(
            key, payload, act, continues=op.continues, durable=op.mutates, secret=op.secret
        )
        if results and op.afterwards is not None:
            await op.afterwards(self._context, request, results[0])
        return answer

    async def _approved(self, handler: Callable[[Any, Any], Any], request: Request) -> Any:
        """Act; if that needs an approval and the caller waits for it, act again with it."""
        try:
            return await handler(self._context, request)
        except ApprovalRequired as error:
            patience = request.wait_approval_ms / 1000 if isinstance(request, Gated) else 0
            asked = str(error.details.get("request"))
            if not patience or not await self._context.start_approved(asked, patience):
                raise
            return await handler(self._context, request)
