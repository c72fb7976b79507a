"""Our spans as those of the OpenTelemetry SDK, and its exporter.

Variables of the environment that the SDK knows count: headers, certificates, a sampler.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from agent_pty import __version__
from agent_pty.core.trace import Span

_NAME = "agent-pty"


class Pipeline:
    """Sends batches; used by one thread. *on_problem* gets what the SDK complains about."""

    def __init__(self, endpoint: str, *, on_problem: Callable[[str], None]) -> None:
        _report_to(on_problem)
        self._ids = _GivenIds()
        self._ended = _Ended()
        resource = Resource.create({SERVICE_NAME: _NAME, SERVICE_VERSION: __version__})
        provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        provider.add_span_processor(self._ended)
        self._tracer = provider.get_tracer(_NAME, __version__)
        self._exporter: SpanExporter = OTLPSpanExporter(endpoint=endpoint)

    def send(self, spans: Sequence[Span]) -> bool:
        """Return whether the collector took them; the exporter has tried more than once."""
        for span in spans:
            self._convert(span)
        batch = self._ended.take()
        return not batch or self._exporter.export(batch) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Close the connection."""
        self._exporter.shutdown()

    def _convert(self, span: Span) -> None:
        self._ids.give(span)
        converted = self._tracer.start_span(
            span.name,
            context=set_span_in_context(NonRecordingSpan(_parent_of(span))),
            kind=SpanKind.SERVER,
            attributes=span.attributes,
            start_time=span.started_ns,
        )
        converted.set_status(StatusCode.OK if span.error_code is None else StatusCode.ERROR)
        converted.end(span.ended_ns)


def _parent_of(span: Span) -> SpanContext:
    """Return the parent; a span without one has an invalid one, and so begins a trace."""
    return SpanContext(
        trace_id=int(span.context.trace_id, 16),
        span_id=int(span.parent_span_id or "0", 16),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )


class _GivenIds(IdGenerator):
    """Gives the SDK the ids that a span has already."""

    def give(self, span: Span) -> None:
        self._trace_id = int(span.context.trace_id, 16)
        self._span_id = int(span.context.span_id, 16)

    def generate_trace_id(self) -> int:
        return self._trace_id

    def generate_span_id(self) -> int:
        return self._span_id

    def is_trace_id_random(self) -> bool:
        return True


class _Ended(SpanProcessor):
    """Keeps spans until they are sent."""

    def __init__(self) -> None:
        self._spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self._spans.append(span)

    def take(self) -> list[ReadableSpan]:
        """Return what was kept."""
        spans, self._spans = self._spans, []
        return spans


def _report_to(on_problem: Callable[[str], None]) -> None:
    """Have what the SDK logs reported to us: by itself it would fill the daemon's log."""

    class Reporter(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            on_problem(record.getMessage())

    logging.getLogger("opentelemetry").addHandler(Reporter(logging.WARNING))
