"""Those who look on: attached people, and who watches events. None of them slows the session."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from agent_pty.core.prompt import looks_like_prompt
from agent_pty.core.safe import Allowed
from agent_pty.host.terminal.notices import Notices
from agent_pty.host.terminal.output import Stream
from agent_pty.host.viewers.attach import Attachment, Gallery

Emit = Callable[[str, dict[str, Any]], None]

# Watchers hear of a burst of output once.
_NEWS_SECONDS = 0.05


class Audience:
    """Told of everything a session does; *emit* tells events to the daemon."""

    def __init__(self, stream: Stream) -> None:
        self.emit: Emit = lambda _event, _facts: None
        self.notices = Notices()
        self._stream = stream
        self._gallery = Gallery(stream.emulator)
        self._news: asyncio.TimerHandle | None = None
        self._told = stream.cursor
        self._ended = False

    @property
    def attached(self) -> int:
        """How many people look on."""
        return len(self._gallery)

    def output(self, data: bytes) -> None:
        """Show what the program wrote."""
        self._gallery.offer(data)
        for event, facts in self.notices.take(self._stream.emulator.take_events()):
            self.emit(event, facts)
        if self._news is None:
            loop = asyncio.get_running_loop()
            self._news = loop.call_later(_NEWS_SECONDS, self._tell_output)

    def _tell_output(self) -> None:
        """One event for a burst of output."""
        self._news = None
        cursor = self._stream.cursor
        self.emit("output", {"cursor": cursor, "bytes": cursor - self._told})
        self._told = cursor
        prompt = self._stream.transcript.pending.decode(errors="replace")
        if looks_like_prompt(prompt) and not self._stream.transcript.alternate:
            self.emit("prompt", {"cursor": cursor, "prompt": prompt.strip()})

    async def attach(
        self, *, read_only: bool, history: int, allowed: Allowed, raw: bool
    ) -> AsyncIterator[bytes]:
        """Yield what a person sees, until the session ends or they leave."""
        person = Attachment(allowed=allowed, raw=raw)
        if self._ended:
            person.tap.end()
        self.emit("attached", {"read_only": read_only, "attached": self.attached + 1})
        try:
            async with contextlib.aclosing(self._gallery.attach(person, history=history)) as seen:
                async for data in seen:
                    yield data
        finally:
            self.emit("detached", {"attached": self.attached})

    def end(self, event: str, facts: dict[str, Any]) -> None:
        """Tell the end of the session, after what was written before it."""
        self._ended = True
        self._gallery.end()
        if self._news is not None:
            self._news.cancel()
            self._tell_output()
        self.emit(event, facts)

    def close(self) -> None:
        """Let everybody go."""
        if self._news is not None:
            self._news.cancel()
        self._gallery.end()
