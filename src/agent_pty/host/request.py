"""The one road for every request of a session: decode, look up its key, act, answer.

What a request types passes the one door in front of the terminal, `Terminal.write`.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from agent_pty import ops
from agent_pty.errors import AgentPtyError
from agent_pty.host.session import Session
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.ops.attach import Attach
from agent_pty.ops.cell_model import CellReport
from agent_pty.ops.op import Keyed, Op, Request, decode, decode_head, failure, success
from agent_pty.store.ledger import Answered, Ledger, Present

_MOST_TYPED_AHEAD = 1024 * 1024


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


class Keyboard:
    """What a person types into a stream, given to the session in order."""

    def __init__(self, session: Session, viewer: str | None) -> None:
        self._session = session
        self._viewer = viewer
        self._pending = bytearray()
        self._task: asyncio.Task[None] | None = None
        # Keys arrive outside the task of the stream, and only there it is known who types.
        self._context = contextvars.copy_context()

    def typed(self, data: bytes) -> None:
        """Take what was typed; a program that does not read loses what does not fit."""
        if len(self._pending) + len(data) <= _MOST_TYPED_AHEAD:
            self._pending += data
        if self._task is None:
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._give(), context=self._context)

    async def _give(self) -> None:
        try:
            while self._pending:
                data = bytes(self._pending)
                self._pending.clear()
                await self._session.input.press(data, kind=InputKind.ATTACH)
                self._session.typed.add(self._viewer, len(data))
        except AgentPtyError:  # the session has ended, and so will the stream
            self._pending.clear()
        finally:
            self._task = None

    def close(self) -> None:
        """Give no more."""
        if self._task is not None:
            self._task.cancel()


async def _act(session: Session, op: Op, request: Request) -> Answered:
    """Act, and turn a deliberate error into its answer: a key must remember that too."""
    try:
        result = await op.handler(session, request)
    except AgentPtyError as error:
        return Answered(envelope=failure(error))
    reference = session.cells.reference(result) if isinstance(result, CellReport) else None
    return Answered(envelope=success(op, result), reference=reference)


def recall(session: Session) -> Callable[[str], Awaitable[bytes]]:
    """Return what makes the answer about a cell again from its reference."""

    async def envelope(reference: str) -> bytes:
        return success(ops.find("run"), await session.cells.recall(reference))

    return envelope
