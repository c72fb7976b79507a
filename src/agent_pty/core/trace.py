"""Spans: what is kept of each request, in the shape of OpenTelemetry. Pure.

Rule of this file: a span has no text of a caller but the name of a session, and that without
secrets. Commands, output and error messages never come here.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from typing import Any

import msgspec
from msgspec import Struct

from agent_pty.core.name import LONGEST, checked
from agent_pty.core.redaction.redactor import redacted
from agent_pty.errors import BadRequest

_COMPONENT = "agent-pty"
_TRACEPARENT = re.compile("([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1


# Structs, because each request makes several: a frozen dataclass takes ten times as long to make.
class SpanContext(Struct, frozen=True, kw_only=True):
    """Which span of which trace; *sampled*: whoever began the trace wants it to be collected."""

    trace_id: str
    span_id: str
    sampled: bool

    @property
    def traceparent(self) -> str:
        """The same as text, which has no other characters than hexadecimal digits and hyphens."""
        return f"00-{self.trace_id}-{self.span_id}-{int(self.sampled):02x}"


class Span(Struct, frozen=True, kw_only=True):
    """One request. Times are nanoseconds since 1970; without *error_code* it succeeded."""

    context: SpanContext
    parent_span_id: str | None
    op: str
    session: str | None
    transport: str
    started_ns: int
    ended_ns: int
    error_code: str | None

    @property
    def name(self) -> str:
        """What it is called in traces."""
        return f"terminal.{self.op}"

    @property
    def attributes(self) -> dict[str, Any]:
        """What is known of it, the attributes of the contract first."""
        found: dict[str, Any] = {"component": _COMPONENT}
        if self.session is not None:
            found["session.id"] = self.session
        found["transport"] = self.transport
        if self.error_code is not None:
            found["error.code"] = self.error_code
        found["duration_ms"] = (self.ended_ns - self.started_ns) // 1000 / 1000
        return found


def context_of(traceparent: object) -> SpanContext | None:
    """Read a `traceparent` as W3C Trace Context says; None if it is none, which is no error.

    >>> context_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").span_id
    'b7ad6b7169203331'
    """
    found = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    if found is None:
        return None
    version, trace_id, span_id, flags, rest = found.groups()
    # Later versions may have more fields at the end; version ff does not exist.
    if version == "ff" or (version == "00" and rest is not None):
        return None
    if not int(trace_id, 16) or not int(span_id, 16):
        return None
    sampled = bool(int(flags, 16) & _SAMPLED)
    return SpanContext(trace_id=trace_id, span_id=span_id, sampled=sampled)


def session_shown(name: object) -> str | None:
    """Return the name of a session as it may be written; None if no session is called so."""
    if not isinstance(name, str) or len(name) > LONGEST:
        return None
    return _shown(name)


@functools.lru_cache(maxsize=1024)
def _shown(name: str) -> str | None:
    try:
        return redacted(checked(name))
    except BadRequest:
        return None


def line(span: Span, *, missing: int) -> bytes:
    """Return a span as one line of JSON; *missing* lines before it could not be written."""
    fields: dict[str, Any] = {
        "trace_id": span.context.trace_id,
        "span_id": span.context.span_id,
        "name": span.name,
        "started_at": _time(span.started_ns),
        "ended_at": _time(span.ended_ns),
        "status": "ok" if span.error_code is None else "error",
        "attributes": span.attributes,
    }
    if span.parent_span_id is not None:
        fields["parent_span_id"] = span.parent_span_id
    if missing:
        fields["missing"] = missing
    return msgspec.json.encode(fields) + b"\n"


def _time(ns: int) -> str:
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1000:06}Z"


@functools.lru_cache(maxsize=8)  # both times of nearly every request
def _second(seconds: int) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
