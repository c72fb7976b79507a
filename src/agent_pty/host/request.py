"""The one road for every request of a session: decode, look up its key, act, answer.

What a request types passes the one door in front of the terminal, `Terminal.write`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agent_pty import ops
from agent_pty.errors import AgentPtyError, ApprovalRequired
from agent_pty.host.gate.presented import Presented, presented
from agent_pty.host.session import Session
from agent_pty.host.viewers.keyboard import Keyboard
from agent_pty.ops.attach import Attach
from agent_pty.ops.cell_model import CellReport
from agent_pty.ops.gated import Gated
from agent_pty.ops.op import Keyed, Op, Request, decode, decode_head, failure, success
from agent_pty.store.ledger import Answered, Ledger, Present


async def answer(
    session: Session, ledger: Ledger, payload: bytes, *, present: Present = lambda: True
) -> bytes:
    """Answer one request; a failure is an answer too and touches nobody else.

    *present* says whether the caller can still be answered.
    """
    try:
        op = ops.find(decode_head(payload).op)
        request = decode(op, payload)
        key = request.key if isinstance(request, Keyed) else None
        return await ledger.once(
            key,
            payload,
            lambda: _act(session, op, request),
            present=present,
            continues=op.continues,
            durable=op.mutates,
        )
    except Exception as error:  # noqa: BLE001  one request's mistake must not reach the others
        return failure(error)


@dataclass(kw_only=True)
class Opened:
    """A stream, or, without *chunks*, why there is none. Call `close` when it has ended."""

    head: bytes
    chunks: AsyncIterator[bytes] | None = None
    typed: Callable[[bytes], None] = lambda _data: None
    close: Callable[[], None] = lambda: None


def open_stream(session: Session, payload: bytes) -> Opened:
    """Open a stream: the same road, whose answer goes on."""
    try:
        op = ops.find(decode_head(payload).op)
        request = decode(op, payload)
    except AgentPtyError as error:
        return Opened(head=failure(error))
    viewer = request.viewer if isinstance(request, Attach) else None
    keyboard = Keyboard(session, viewer)
    read_only = getattr(request, "read_only", True)
    return Opened(
        head=success(op, {"typed": session.typed.of(viewer), "cursor": session.cursor}),
        chunks=op.handler(session, request),
        typed=(lambda _data: None) if read_only else keyboard.typed,
        close=keyboard.close,
    )


async def _act(session: Session, op: Op, request: Request) -> Answered:
    """Act, and turn a deliberate error into its answer: a key must remember that too."""
    presented.set(Presented(token=getattr(request, "approval", None)))
    try:
        result = await _approved(session, op, request)
    except AgentPtyError as error:
        return Answered(envelope=failure(error))
    reference = session.cells.reference(result) if isinstance(result, CellReport) else None
    return Answered(envelope=success(op, result), reference=reference)


async def _approved(session: Session, op: Op, request: Request) -> Any:
    """Act; if that needs an approval and the caller waits for it, act again once it is there.

    Nothing was typed by the first attempt, and nothing is held while an operator thinks.
    """
    try:
        return await op.handler(session, request)
    except ApprovalRequired as error:
        patience = request.wait_approval_ms / 1000 if isinstance(request, Gated) else 0
        if not patience:
            raise
        decision = await session.permission.decided(error.details["request"], patience)
        if decision == "approved":
            return await op.handler(session, request)
        details = error.details
        said = "was not decided in time"
        if decision == "refused":
            said = "was denied by an operator"
            details = details | {"remedy": "ask the operator why; the same again is a new request"}
        raise ApprovalRequired(f"{error}: it {said}", **details) from error


def recall(session: Session) -> Callable[[str], Awaitable[bytes]]:
    """Return what makes the answer about a cell again from its reference."""

    async def envelope(reference: str) -> bytes:
        return success(ops.find("run"), await session.cells.recall(reference))

    return envelope
