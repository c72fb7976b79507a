"""A span for each request: begun when it comes, written when it is answered."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, Self

from agent_pty import log, ops
from agent_pty.core.layout import Layout
from agent_pty.core.trace import Span, SpanContext, context_of, session_shown
from agent_pty.daemon.otlp import OtlpExport
from agent_pty.errors import AgentPtyError, BadConfig, Internal
from agent_pty.ops.op import Head, error_code
from agent_pty.store import config
from agent_pty.store.trace_file import TraceFile
from agent_pty.transports.caller import Answered

# The name of a request that names no op of ours: what it names may be anything.
_UNKNOWN = "unknown"
# No error of ours: the caller disconnected, so nobody was answered.
_CANCELLED = "cancelled"
_SPAN_ID_DIGITS = 16

# The span whose request is being answered, for those that are asked for on its behalf.
_current: ContextVar[SpanContext | None] = ContextVar("current_span", default=None)


class OpenSpan:
    """A request that is being answered; at the end of the `with` block its span is *done*."""

    __slots__ = (
        "_begun",
        "_context",
        "_done",
        "_error_code",
        "_op",
        "_parent",
        "_session",
        "_started",
        "_token",
        "_traced",
        "_transport",
    )

    def __init__(
        self, transport: str, parent: SpanContext | None, done: Callable[[Span], None]
    ) -> None:
        self._transport = transport
        self._parent = parent
        self._done = done
        self._op = _UNKNOWN
        self._traced = True
        self._session: str | None = None
        self._error_code: str | None = None
        self._context = _new_context(parent)
        self._token: Token[SpanContext | None] | None = None
        self._started = time.time_ns()
        self._begun = time.monotonic_ns()

    def asks(self, head: Head) -> None:
        """Note what is asked for, and by which span of the caller."""
        parent = context_of(head.traceparent)
        if parent is not None:
            self._parent, self._context = parent, _new_context(parent)
        op = ops.TABLE.get(head.op)
        if op is None:
            return
        self._op = op.name
        self._traced = op.traced and not op.stream
        self._session = session_shown(head.id)
        if self._traced:
            self._token = _current.set(self._context)
        else:
            # A stream goes on after this block, and what it asks for has the caller's parent.
            _current.set(self._parent)

    def answered(self, answer: Answered) -> None:
        """Note what was answered."""
        self._error_code = error_code(answer) if isinstance(answer, bytes) else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if self._token is not None:
            _current.reset(self._token)
        if not self._traced:
            return
        self._done(
            Span(
                context=self._context,
                parent_span_id=None if self._parent is None else self._parent.span_id,
                op=self._op,
                session=self._session,
                transport=self._transport,
                started_ns=self._started,
                ended_ns=self._started + time.monotonic_ns() - self._begun,
                error_code=self._error_code if error is None else _code_of(error),
            )
        )


def _new_context(parent: SpanContext | None) -> SpanContext:
    digits = os.urandom(24).hex()
    return SpanContext(
        trace_id=digits[_SPAN_ID_DIGITS:] if parent is None else parent.trace_id,
        span_id=digits[:_SPAN_ID_DIGITS],
        sampled=parent is None or parent.sampled,
    )


def _code_of(error: BaseException) -> str:
    if isinstance(error, AgentPtyError):
        return error.code
    return _CANCELLED if isinstance(error, asyncio.CancelledError) else Internal.code


class Tracing:
    """Writes spans to a file and, if that is configured, sends them to a collector."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._file = TraceFile(layout.traces, layout.older_traces)
        self._export: OtlpExport | None = None
        self._config_error: str | None = None
        self._abandoned = False

    def start(self) -> None:
        """Begin to export, if that is configured; the daemon starts whatever is wrong with it."""
        try:
            endpoint = config.load(self._layout).traces.endpoint
        except BadConfig as error:
            self._config_error = str(error)
            log.line(f"daemon: traces are not exported: {error}")
            return
        if endpoint is not None:
            self._export = OtlpExport(endpoint)
            self._export.start()

    def request(self, transport: str) -> OpenSpan:
        """Begin the span of a request that came from a caller."""
        return OpenSpan(transport, None, self._add)

    def part(self, transport: str) -> OpenSpan:
        """Begin the span of a request that is made on behalf of the present one."""
        return OpenSpan(transport, _current.get(), self._add)

    def abandon(self) -> None:
        """Write no more: who waits for an answer will ask the next daemon, which has the span."""
        self._abandoned = True

    def _add(self, span: Span) -> None:
        if self._abandoned:
            return
        self._file.add(span)
        if self._export is not None and span.context.sampled:
            self._export.add(span)

    @property
    def facts(self) -> dict[str, Any]:
        """What `status` tells: where spans are, how many are not, and why."""
        return {
            "trace_path": self._layout.traces,
            "traces_missing": self._file.missing,
            "traces_problem": self._file.problem or self._config_error,
            "otlp": None if self._export is None else self._export.facts,
        }

    async def close(self) -> None:
        """Send what was not sent yet."""
        if self._export is not None:
            await self._export.close()
        self._file.close()
