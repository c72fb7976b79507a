"""A collector of spans: an HTTP server that takes OTLP as a real one does."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span


@dataclass
class Collector:
    """What was received so far; *status* is the answer to the next requests, after *delay*."""

    port: int
    status: int = 200
    delay: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    received: list[ResourceSpans] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list[Span]:
        """Every span, in the order in which they came."""
        return [span for one in self.received for scope in one.scope_spans for span in scope.spans]


@contextlib.contextmanager
def collecting(port: int = 0) -> Iterator[Collector]:
    """Collect at a free port, or at this one, as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.headers = {name.lower(): value for name, value in self.headers.items()}
            collector.paths.append(self.path)
            threading.Event().wait(collector.delay)
            if collector.status == 200:
                collector.received += ExportTraceServiceRequest.FromString(body).resource_spans
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(collector.status)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests look at what was received."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        collector = Collector(port=server.server_port)
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        serving.start()
        try:
            yield collector
        finally:
            server.shutdown()
            serving.join()
