"""Spans for a collector, by OTLP: gathered here, and sent by a thread of their own.

The packages that speak OTLP are optional and large, so only that thread imports them, and only if
a collector is configured.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from agent_pty import log
from agent_pty.core.trace import Span

if TYPE_CHECKING:
    from agent_pty.daemon.otlp_pipeline import Pipeline

_MOST_WAITING = 8192
_MOST_SENT = 512
# Spans that come within this time are sent together.
_GATHER_SECONDS = 1.0
# How long the daemon waits at its end: a collector that takes spans gets the last ones.
_LAST_SECONDS = 5.0
_LAST_SECONDS_OF_TROUBLE = 0.5
_NO_PACKAGE = "it needs {}, which is not installed: pip install 'agent-pty[otel]'"


class OtlpExport:
    """Sends spans to *endpoint*. A collector that cannot be reached holds up nothing."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._waiting: deque[Span] = deque()
        self._arrived = threading.Event()
        self._closing = threading.Event()
        # Counted on both sides of the thread, so each has its own.
        self._refused = 0
        self._failed = 0
        self._problem: str | None = None
        self._noted = False
        # A daemon of Python's: the process may end while it still waits for the collector.
        self._thread = threading.Thread(target=self._run, name="otlp", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    @property
    def facts(self) -> dict[str, Any]:
        """What `status` tells of it."""
        unsent = self._refused + self._failed
        if not self._thread.is_alive():  # it will never send what it has
            unsent += len(self._waiting)
        return {"endpoint": self._endpoint, "unsent": unsent, "problem": self._problem}

    def add(self, span: Span) -> None:
        """Have a span sent soon; one for which there is no room is counted."""
        if len(self._waiting) >= _MOST_WAITING or not self._thread.is_alive():
            self._refused += 1
            return
        self._waiting.append(span)
        if not self._arrived.is_set():
            self._arrived.set()

    async def close(self) -> None:
        """Send the rest, if the collector takes it within a moment."""
        self._closing.set()
        self._arrived.set()
        patience = _LAST_SECONDS if self._problem is None else _LAST_SECONDS_OF_TROUBLE
        await asyncio.to_thread(self._thread.join, patience)
        left = self._refused + self._failed + len(self._waiting)
        if left:
            log.line(f"daemon: {left} spans were not exported to {self._endpoint}")

    # -- in the thread

    def _run(self) -> None:
        try:
            from agent_pty.daemon.otlp_pipeline import Pipeline  # noqa: PLC0415  150 ms, optional

            self._send_all(Pipeline(self._endpoint, on_problem=self._note))
        except ImportError as error:
            self._note(_NO_PACKAGE.format(error.name))
        except Exception as error:  # noqa: BLE001  the packages' mistakes must not be silent
            log.error(error)
            self._noted = False
            self._note(f"it was given up: {error}")

    def _send_all(self, pipeline: Pipeline) -> None:
        while not (self._closing.is_set() and not self._waiting):
            self._arrived.wait()
            self._closing.wait(_GATHER_SECONDS)
            self._arrived.clear()
            while self._waiting:
                self._send(pipeline)
        pipeline.close()

    def _send(self, pipeline: Pipeline) -> None:
        count = min(len(self._waiting), _MOST_SENT)
        self._noted = False
        if pipeline.send([self._waiting[place] for place in range(count)]):
            self._recover()
        else:
            self._failed += count
        for _ in range(count):  # not before: those that are on their way are not sent yet
            self._waiting.popleft()

    def _note(self, problem: str) -> None:
        """Keep what a batch met first, and log it if all was well before."""
        if self._problem is None:
            log.line(f"daemon: traces are not exported to {self._endpoint}: {problem}")
        if not self._noted:
            self._problem, self._noted = problem, True

    def _recover(self) -> None:
        if self._problem is not None:
            log.line(f"daemon: traces are exported to {self._endpoint} again")
        self._problem = None
