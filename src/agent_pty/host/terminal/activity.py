"""Published notice of output: one event for a burst, and one when a prompt appears."""

from __future__ import annotations

import asyncio

from agent_pty.core.prompt import looks_like_prompt
from agent_pty.host.events import Batch, Event, EventLog, Output, ProgramGone, Prompt, Signal
from agent_pty.host.terminal.output import TerminalOutput

_BURST_SECONDS = 0.05


class Activity:
    """A listener that publishes `output` at most 20 times a second."""

    def __init__(self, output: TerminalOutput, log: EventLog) -> None:
        self._output = output
        self._log = log
        self._timer: asyncio.TimerHandle | None = None
        self._published = output.cursor

    def notice(self, event: Event | Signal) -> None:
        """Wait for the end of a burst; before the session ends, publish what is left."""
        if isinstance(event, Batch) and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_BURST_SECONDS, self._publish)
        elif isinstance(event, ProgramGone) and self._timer is not None:
            self._timer.cancel()
            self._publish()

    def _publish(self) -> None:
        self._timer = None
        output, cursor = self._output, self._output.cursor
        # If keeper and host die at once the spool is gone: what is published is in a file by then.
        output.log.flush()
        self._log.publish(Output(cursor=cursor, bytes=cursor - self._published))
        self._published = cursor
        prompt = output.transcript.pending.decode(errors="replace")
        if looks_like_prompt(prompt) and not output.transcript.alternate:
            self._log.publish(Prompt(cursor=cursor, prompt=prompt.strip()))

    def close(self) -> None:
        """Publish nothing more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
